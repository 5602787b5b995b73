#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/cpu/ops.h"

// RMSNorm, rotary embedding and SwiGLU: independent rows, and one sum over rows.
namespace rm::cpu {

void run(const RmsNormFwd& op, Workspace, Context& context) {
    const auto* weight = op.weight.as<float>();
    auto* rstd = op.rstd.as<float>();
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    const auto eps = static_cast<float>(op.eps);
    with_rows("rmsnorm_fwd", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E* x = op.x.as<E>();
        E* y = op.y.as<E>();
        context.workers.for_blocks(T, kTile, [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t t = first; t < first + count; ++t)
                rstd[t] = loops.rmsnorm_fwd(x + t * C, weight, eps, y + t * C, C);
        });
    });
}

namespace {

// Each block of rows sums its part of d_weight; the parts are added in row order.
float* rmsnorm_parts(const RmsNormBwd& op, Scratch& scratch) {
    return scratch.floats((op.x.dim(0) + kTile - 1) / kTile * op.x.dim(1));
}

}  // namespace

Bytes scratch_bytes(const RmsNormBwd& op, const Context&) {
    Scratch scratch;
    rmsnorm_parts(op, scratch);
    return scratch.used();
}

void run(const RmsNormBwd& op, Workspace workspace, Context& context) {
    const auto *weight = op.weight.as<float>(), *rstd = op.rstd.as<float>();
    auto* d_weight = op.d_weight.as<float>();
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    Scratch scratch(workspace);
    float* parts = rmsnorm_parts(op, scratch);
    with_rows("rmsnorm_bwd", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E *d_y = op.d_y.as<E>(), *x = op.x.as<E>();
        E* d_x = op.d_x.as<E>();
        context.workers.for_blocks(T, kTile, [&](std::int64_t first, std::int64_t count, int) {
            float* part = parts + first / kTile * C;
            std::fill_n(part, C, 0.0f);
            for (std::int64_t t = first; t < first + count; ++t)
                loops.rmsnorm_bwd(d_y + t * C, x + t * C, weight, rstd[t], d_x + t * C, part, C);
        });
    });
    for (std::int64_t first = 0; first < T; first += kTile)
        context.loops.rows_f32.add(parts + first / kTile * C, d_weight, C);
}

namespace {

// Tokens [first, first + count) of one run; `position` belongs to the first of them.
void rope_rows(const RopeTable& op, std::int64_t first, std::int64_t count, std::int64_t position) {
    const std::int64_t half = op.cos.dim(1);
    float* cos = op.cos.as<float>() + first * half;
    float* sin = op.sin.as<float>() + first * half;
    for (std::int64_t i = 0; i < count; ++i) {
        for (const double frequency : op.inv_freq) {
            const double angle =
                std::fmod(static_cast<double>(position + i) * frequency, 2 * std::numbers::pi);
            *cos++ = static_cast<float>(op.scale * std::cos(angle));
            *sin++ = static_cast<float>(op.scale * std::sin(angle));
        }
    }
}

}  // namespace

void run(const RopeTable& op, Workspace, Context& context) {
    std::int64_t at = 0;
    for (const Run& run : op.runs) {
        const auto rows = [&](std::int64_t first, std::int64_t count, int) {
            rope_rows(op, at + first, count, run.first + first);
        };
        context.workers.for_blocks(run.length, kTile, rows);
        at += run.length;
    }
}

void run(const RopeApply& op, Workspace, Context& context) {
    const auto *cos = op.cos.as<float>(), *sin = op.sin.as<float>();
    const std::int64_t T = op.x.dim(0), H = op.x.dim(1), half = op.cos.dim(1);
    const float sign = op.rotation == Rotation::forward ? 1 : -1;
    with_rows("rope_apply", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        E* x = op.x.as<E>();
        context.workers.for_blocks(T * H, kTile, [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t row = first; row < first + count; ++row) {
                const std::int64_t angle = row / H * half;
                loops.rotate(x + row * 2 * half, cos + angle, sin + angle, sign, half);
            }
        });
    });
}

void run(const SwigluFwd& op, Workspace, Context& context) {
    with_rows("swiglu_fwd", op.h, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E *gate = op.gate.as<E>(), *up = op.up.as<E>();
        E* h = op.h.as<E>();
        const auto block = [&](std::int64_t first, std::int64_t count, int) {
            loops.swiglu_fwd(gate + first, up + first, h + first, count);
        };
        context.workers.for_blocks(op.h.num_elements(), kElements, block);
    });
}

void run(const SwigluBwd& op, Workspace, Context& context) {
    with_rows("swiglu_bwd", op.d_h, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E *d_h = op.d_h.as<E>(), *gate = op.gate.as<E>(), *up = op.up.as<E>();
        E *d_gate = op.d_gate.as<E>(), *d_up = op.d_up.as<E>();
        const auto block = [&](std::int64_t at, std::int64_t count, int) {
            loops.swiglu_bwd(d_h + at, gate + at, up + at, d_gate + at, d_up + at, count);
        };
        context.workers.for_blocks(op.d_h.num_elements(), kElements, block);
    });
}

}  // namespace rm::cpu
