#pragma once

#include "kernels/cpu/ops.h"
#include "kernels/cpu/run_tiles.h"

// What attention forward and backward share.
namespace rm::cpu {

struct AttentionSizes {
    std::int64_t T = 0, S = 0, Hq = 0, Hk = 0, D = 0;
};
template <typename Op>
AttentionSizes sizes_of(const Op& op) {
    return {op.q.dim(0), op.k.dim(0), op.q.dim(1), op.k.dim(1), op.q.dim(2)};
}

// Checks what the runs and the heads of a bound op must satisfy.
template <typename Op>
void check_attention(std::string_view name, const Op& op, const Dims& dims) {
    const auto T = dims["T"], S = dims["S"], Hq = dims["Hq"], Hk = dims["Hk"];
    RM_CHECK(Hk > 0 && Hq % Hk == 0, "{}: {} query heads over {} key-value heads", name, Hq, Hk);
    RM_CHECK(num_tokens(op.q_runs) == T, "{}: q_runs of {} tokens for q of {}", name,
             num_tokens(op.q_runs), T);
    RM_CHECK(num_tokens(op.kv_runs) == S, "{}: kv_runs of {} tokens for k of {}", name,
             num_tokens(op.kv_runs), S);
    RM_CHECK(op.scale > 0, "{}: scale {}; it must be positive", name, op.scale);
}

// Keys or values with each tile transposed: (D, tokens of the tile), so that scores of one query
// and consecutive keys are one vector.
class TransposedTiles {
public:
    TransposedTiles(const AttentionSizes& sizes, Scratch& scratch)
        : S_(sizes.S),
          Hk_(sizes.Hk),
          D_(sizes.D),
          // A tile is read as if it were 64 wide.
          data_(scratch.floats(sizes.S * sizes.Hk * sizes.D + kTile)) {}

    const float* tile(std::int64_t head, const RunTile& tile) const {
        return data_ + (head * S_ + tile.token) * D_;
    }

    void fill(const TensorView& from, const RunTiles& tiles, Context& context) const {
        const auto* source = from.as<float>();
        context.workers.for_items(tiles.count() * Hk_, [&](std::int64_t item, int) {
            const RunTile tile = tiles.at(item / Hk_);
            const std::int64_t head = item % Hk_;
            context.loops.transpose(source + (tile.token * Hk_ + head) * D_, Hk_ * D_, tile.count,
                                    D_, data_ + (head * S_ + tile.token) * D_, tile.count,
                                    tile.count);
        });
    }

private:
    std::int64_t S_ = 0, Hk_ = 0, D_ = 0;
    float* data_ = nullptr;
};

}  // namespace rm::cpu
