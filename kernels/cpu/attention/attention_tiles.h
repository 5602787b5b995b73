#pragma once

#include <cstddef>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/run_tiles.h"

// Shared by attention forward and backward.
namespace rm::cpu {

struct AttentionSizes {
    std::int64_t T = 0, S = 0, Hq = 0, Hk = 0, D = 0;
    std::int64_t group() const { return Hq / Hk; }  // query heads of a key-value head
    // Floats of a packed tile.
    std::int64_t tile_floats() const {
        constexpr std::int64_t kAlign = simd::kAttentionAlign;
        return (D + kAlign - 1) / kAlign * kAlign * kTile;
    }
};
template <typename Op>
AttentionSizes sizes_of(const Op& op) {
    return {op.q.dim(0), op.k.dim(0), op.q.dim(1), op.k.dim(1), op.q.dim(2)};
}

// The loops for activations that a bound op has as `compute`.
inline const simd::AttentionLoops& attention_loops(const Context& context, DType compute) {
    RM_CHECK(compute == context.compute, "attention over {}, on kernels that compute in {}",
             to_string(compute), to_string(context.compute));
    return context.attention;
}

// Row `row` of (tokens * heads, D).
inline std::byte* row_of(const TensorView& tensor, std::int64_t row) {
    return static_cast<std::byte*>(tensor.data()) + row * tensor.dim(2) * size_of(tensor.dtype());
}
// The tokens of a tile of one head of a tensor (tokens, heads, D).
inline simd::AttentionTokens tokens_of(const TensorView& tensor, const RunTile& tile,
                                       std::int64_t head) {
    const std::int64_t heads = tensor.dim(1), D = tensor.dim(2);
    return {row_of(tensor, tile.token * heads + head), heads * D, tile.count, D};
}

// The tools of an op over the tiles of its runs; borrows all. `layout` is that of its workspace.
template <typename Op, typename Layout>
class AttentionOverTiles {
public:
    AttentionOverTiles(const Op& op, const Layout& layout, Context& context)
        : op_(op),
          sizes_(sizes_of(op)),
          layout_(layout),
          workers_(context.workers),
          loops_(attention_loops(context, op.q.dtype())),
          q_tiles_(op.q_runs),
          kv_tiles_(op.kv_runs) {}

protected:
    const Op& op_;
    AttentionSizes sizes_;
    const Layout& layout_;
    Workers& workers_;
    const simd::AttentionLoops& loops_;
    RunTiles q_tiles_, kv_tiles_;
};

}  // namespace rm::cpu
