#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// Which rows of a tensor of `total` rows a view holds: of an embedding or a head that is cut by
// rows over ranks. total 0: the view is all of it.
struct RowShare {
    std::int64_t first = 0;
    std::int64_t total = 0;

    std::int64_t whole(std::int64_t here) const { return total == 0 ? here : total; }
    void check(std::string_view op, std::int64_t here) const {
        RM_CHECK(here > 0 && first >= 0 && first + here <= whole(here),
                 "{}: rows {}+{} of a vocabulary of {}", op, first, here, whole(here));
    }
};

// The rows of a vocabulary that a view of `here` rows holds.
class VocabularyPart {
public:
    static constexpr std::int64_t kElsewhere = -1;

    VocabularyPart(const RowShare& rows, std::int64_t here)
        : first_(rows.first), here_(here), size_(rows.whole(here)) {}

    std::int64_t first() const { return first_; }
    std::int64_t size() const { return size_; }  // of the whole vocabulary

    // The view's row for `id`, a token or target, or kElsewhere. One outside the vocabulary is a
    // CheckError that says `what` it is and `at` which token.
    std::int64_t row_of(std::int64_t id, std::string_view what, std::int64_t at) const {
        RM_CHECK(id >= 0 && id < size_, "{} {} at {} is outside the vocabulary of {}", what, id, at,
                 size_);
        const std::int64_t row = id - first_;
        return row >= 0 && row < here_ ? row : kElsewhere;
    }

private:
    std::int64_t first_ = 0, here_ = 0, size_ = 0;
};

// A token outside the vocabulary is an error of the stream. A device cannot raise one: there the
// token's row is NaN, and so is the loss. A token whose row another rank has gives zeros.
struct EmbeddingFwd {
    TensorView tokens;  // each in [0, V)
    TensorView table;   // the rows of V that are here
    TensorView x;
    RowShare rows = {};

    static constexpr std::string_view kName = "embedding_fwd";
    void operands(Operands& all) const {
        all.reads().indices<"T">(tokens, "tokens").compute_or_master<"V C">(table, "table");
        all.writes().compute<"T C">(x, "x");
        rows.check(kName, all["V"]);
    }
    // Counts only the tokens' rows, read and written.
    double moved_bytes() const { return 2 * static_cast<double>(x.num_bytes().value); }
};

// d_table[token] += d_x, in token order: deterministic. Tokens of other ranks' rows add nothing.
struct EmbeddingBwd {
    TensorView tokens;
    TensorView d_x;
    TensorView d_table;  // the rows of V that are here
    RowShare rows = {};

    static constexpr std::string_view kName = "embedding_bwd";
    void operands(Operands& all) const {
        all.reads().indices<"T">(tokens, "tokens").compute<"T C">(d_x, "d_x");
        all.writes().accum<"V C">(d_table, "d_table");
        rows.check(kName, all["V"]);
    }
    double moved_bytes() const { return 2 * static_cast<double>(d_x.num_bytes().value); }
};

}  // namespace rm
