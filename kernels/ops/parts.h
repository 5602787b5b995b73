#pragma once

#include "kernels/ops/operands.h"

// Tensors cut over ranks: how parts are moved and summed.
namespace rm {

// to[:, to_first + i, :] = from[:, from_first + i, :] for i in [0, count), converted to the
// target's dtype; Into::add adds (in accum, rounded once). How heads are cut, replicated and
// joined.
struct CopyHeads {
    TensorView from;
    TensorView to;
    std::int64_t from_first = 0;
    std::int64_t to_first = 0;
    std::int64_t count = 0;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "copy_heads";
    void operands(Operands& all) const {
        all.compute_or_accum<"T A D">(from, "from").compute_or_accum<"T B D">(to, "to");
        check_some_heads("from", from_first, all["A"]);
        check_some_heads("to", to_first, all["B"]);
        all.part_read(heads_of(from, from_first)).part_written(heads_of(to, to_first));
    }
    double moved_bytes() const {
        const double elements =
            static_cast<double>(from.dim(0) * from.dim(2)) * static_cast<double>(count);
        return elements * static_cast<double>(size_of(from.dtype()) + size_of(to.dtype()));
    }

private:
    void check_some_heads(std::string_view name, std::int64_t first, std::int64_t heads) const {
        RM_CHECK(first >= 0 && count >= 0 && first + count <= heads,
                 "copy_heads: heads {}+{} of {}, which has {}", first, count, name, heads);
    }
    // From the first to the last element that is touched of heads [first, first + count): what lies
    // between are other heads of the same rows.
    MemoryRange heads_of(const TensorView& x, std::int64_t first) const {
        const std::int64_t T = x.dim(0), heads = x.dim(1), D = x.dim(2), size = size_of(x.dtype());
        if (T == 0 || count == 0) return {x.data(), {}};
        return {static_cast<const std::byte*>(x.data()) + first * D * size,
                {((T - 1) * heads + count) * D * size}};
    }
};

// y = the sum of G parts, or is added to: formed in accum, in the order of the parts (y first), and
// rounded once.
struct SumParts {
    TensorView parts;  // (G, ...) compute or accum
    TensorView y;      // (...) of the same dtype
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "sum_parts";
    void operands(Operands& all) const {
        const std::int64_t G = parts.rank() == 0 ? 0 : parts.dim(0), size = y.num_elements();
        RM_CHECK(G > 0 && parts.num_elements() == G * size,
                 "sum_parts: parts {} are not one or more of y {}", shape_string(parts),
                 shape_string(y));
        all.reads().compute_or_accum<"G elements">(parts.reshaped({G, size}), "parts");
        all.writes().elements(y, "y", parts.dtype());
    }
};

}  // namespace rm
