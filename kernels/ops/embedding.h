#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// Which rows of a tensor of `total` rows a view holds: of an embedding or a head that is cut by
// rows over ranks. total 0: the view is all of it.
struct RowShare {
    std::int64_t first = 0;
    std::int64_t total = 0;

    void check(std::string_view op, std::int64_t here) const {
        const std::int64_t all = total == 0 ? here : total;
        RM_CHECK(here > 0 && first >= 0 && first + here <= all,
                 "{}: rows {}+{} of a vocabulary of {}", op, first, here, all);
    }
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
    // Only the tokens' rows, each way.
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
