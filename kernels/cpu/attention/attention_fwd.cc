#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/attention/attention_forward.h"

// Attention forward and the ops around it.
namespace rm::cpu {
namespace {

using Loops = simd::AttentionLoops;

// The tiles of the loops, as they are.
class ForwardSteps {
public:
    static std::int64_t query_floats(std::int64_t tile_floats) {
        return Loops::kQuery * tile_floats;
    }
    static std::int64_t kv_floats(std::int64_t tile_floats) { return Loops::kKv * tile_floats; }

    ForwardSteps(const AttentionFwd& op, const AttentionSizes&, const Loops& loops)
        : op_(op), loops_(loops) {}
    void pack_query(const RunTile& tile, std::int64_t head, float* to) const {
        loops_.pack_query(tokens_of(op_.q, tile, head), to);
    }
    void pack_kv(const RunTile& tile, std::int64_t head, float* to) const {
        loops_.pack_kv(tokens_of(op_.k, tile, head), tokens_of(op_.v, tile, head), to);
    }
    void run(const simd::AttentionFwdTile& tile) const { loops_.forward(tile); }

private:
    const AttentionFwd& op_;
    const Loops& loops_;
};

}  // namespace

void run(const AttentionBegin& op, Workspace, Context& context) {
    run(FillZero{op.state.acc}, {}, context);
    std::fill_n(op.state.m.as<float>(), op.state.m.num_elements(),
                -std::numeric_limits<float>::infinity());
    std::fill_n(op.state.l.as<float>(), op.state.l.num_elements(), 0.0f);
}

Bytes scratch_bytes(const AttentionFwd& op, const Context& context) {
    return forward_scratch_bytes<ForwardSteps>(op, context);
}
void run(const AttentionFwd& op, Workspace workspace, Context& context) {
    run_forward<ForwardSteps>(op, workspace, context);
}

void run(const AttentionMerge& op, Workspace, Context& context) {
    const std::int64_t D = op.state.acc.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row) {
            float& m = op.state.m.as<float>()[row];
            float& l = op.state.l.as<float>()[row];
            const float other_m = op.other.m.as<float>()[row];
            const float max = std::max(m, other_m);
            const float keep = m == max ? 1 : std::exp2(m - max);
            const float take = other_m == max ? 1 : std::exp2(other_m - max);
            float* acc = op.state.acc.as<float>() + row * D;
            const float* other = op.other.acc.as<float>() + row * D;
            for (std::int64_t d = 0; d < D; ++d)
                acc[d] = acc[d] * keep + other[d] * take;
            l = l * keep + op.other.l.as<float>()[row] * take;
            m = max;
        }
    };
    context.workers.for_blocks(op.state.m.num_elements(), kTile, rows);
}

void run(const AttentionFinish& op, Workspace, Context& context) {
    const auto *acc = op.state.acc.as<float>(), *m = op.state.m.as<float>();
    const auto* l = op.state.l.as<float>();
    auto* lse = op.lse.as<float>();
    const Loops& loops = attention_loops(context, op.out.dtype());
    const std::int64_t D = op.out.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row) {
            const bool seen = l[row] != 0;
            loops.scale(acc + row * D, seen ? 1 / l[row] : 0, row_of(op.out, row), D);
            lse[row] = seen ? static_cast<float>(m[row] * std::numbers::ln2 + std::log(l[row]))
                            : -std::numeric_limits<float>::infinity();
        }
    };
    context.workers.for_blocks(op.lse.num_elements(), kTile, rows);
}

void run(const AttentionDelta& op, Workspace, Context& context) {
    auto* delta = op.delta.as<float>();
    const Loops& loops = attention_loops(context, op.out.dtype());
    const std::int64_t D = op.out.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row)
            delta[row] = loops.dot(row_of(op.d_out, row), row_of(op.out, row), D);
    };
    context.workers.for_blocks(op.delta.num_elements(), kTile, rows);
}

}  // namespace rm::cpu
