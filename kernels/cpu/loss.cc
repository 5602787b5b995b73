#include <algorithm>
#include <cmath>

#include "kernels/cpu/ops.h"

namespace rm::cpu {
namespace {

// Rows whose logits exist at once: up to 512, fewer when the vocabulary is large.
std::int64_t chunk_rows(std::int64_t V) {
    constexpr std::int64_t kMaxRows = 512, kMaxLogits = 16 << 20;
    return std::clamp(kMaxLogits / V / kTile * kTile, kTile, kMaxRows);
}

// The op's workspace.
struct Layout {
    Layout(const LinearCrossEntropy& op, const Context& context, Scratch& scratch)
        : rows(chunk_rows(weight_of(op.head).num_rows())),
          logits(scratch.floats(rows * weight_of(op.head).num_rows())),
          losses(scratch.doubles(rows)),
          forward(weight_of(op.head).forward(), context.workers.count(), scratch),
          backward(weight_of(op.head).backward(), context.workers.count(), scratch),
          head_gradient(context, scratch) {}

    std::int64_t rows = 0;
    float* logits = nullptr;   // (rows, V), then their gradients
    double* losses = nullptr;  // (rows)
    Product forward, backward;
    WeightGradient head_gradient;
};

// Loss of one row; its logits become the gradient of `scale` times it.
double finish_row(float* logits, std::int64_t V, std::int32_t target, double scale,
                  const simd::Loops& loops) {
    if (target == kIgnoreTarget) {
        std::fill_n(logits, V, 0.0f);
        return 0;
    }
    RM_CHECK(target >= 0 && target < V, "target {} is outside the vocabulary of {}", target, V);
    const double target_logit = logits[target];
    float max = 0;
    const double sum = loops.exp_row(logits, V, &max);
    loops.scale(logits, static_cast<float>(scale / sum), logits, V);
    logits[target] -= static_cast<float>(scale);
    return std::log(sum) + static_cast<double>(max) - target_logit;
}

}  // namespace

void check(const LinearCrossEntropy& op) {
    const CpuPreparedWeight& weight = weight_of(op.head);
    const TensorView head(nullptr, DType::f32, {weight.num_rows(), weight.num_columns()});
    Dims dims("linear_cross_entropy");
    dims.bind<"T C">(op.x, "x").bind<"V C">(head, "head").bind<"T">(op.targets, "targets");
    dims.bind<"1">(op.loss_sum, "loss_sum");
    if (!op.d_x.empty()) dims.bind<"T C">(op.d_x, "d_x").bind<"V C">(op.d_head, "d_head");
}

Bytes scratch_bytes(const LinearCrossEntropy& op, const Context& context) {
    Scratch scratch;
    const Layout layout(op, context, scratch);
    return scratch.used();
}

void run(const LinearCrossEntropy& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout(op, context, scratch);
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1), V = weight_of(op.head).num_rows();
    const auto* x = op.x.as<float>();
    const auto* targets = op.targets.as<std::int32_t>();
    float* d_x = op.d_x.empty() ? nullptr : op.d_x.as<float>();
    double& loss_sum = *op.loss_sum.as<double>();
    for (std::int64_t start = 0; start < T; start += layout.rows) {
        const std::int64_t rows = std::min(layout.rows, T - start);
        const auto block = [&](std::int64_t first, std::int64_t count, int worker) {
            float* logits = layout.logits + first * V;
            const std::int64_t at = start + first;
            layout.forward.rows(x + at * C, logits, count, Into::overwrite, worker);
            for (std::int64_t i = 0; i < count; ++i) {
                layout.losses[first + i] =
                    finish_row(logits + i * V, V, targets[at + i], op.scale, context.loops);
            }
            if (d_x) layout.backward.rows(logits, d_x + at * C, count, Into::overwrite, worker);
        };
        context.workers.for_blocks(rows, kTile, block);
        for (std::int64_t i = 0; i < rows; ++i)
            loss_sum += layout.losses[i];
        if (!d_x) continue;
        layout.head_gradient.accumulate({.d_y = layout.logits,
                                         .x = x + start * C,
                                         .d_w = op.d_head.as<float>(),
                                         .T = rows,
                                         .N = V,
                                         .K = C},
                                        context);
    }
}

}  // namespace rm::cpu
