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
        : rows(chunk_rows(V(op))),
          logits(scratch.floats(rows * V(op)), DType::f32, {rows, V(op)}),
          // f32 gradients replace the logits.
          gradients(context.compute == DType::f32 ? logits.data() : scratch.bf16s(rows * V(op)),
                    context.compute, {rows, V(op)}),
          losses(scratch.doubles(rows)),
          forward(weight_of(op.head).forward(), context.workers, scratch),
          backward(weight_of(op.head).backward(), context.workers, scratch),
          head_gradient(context, scratch) {}
    static std::int64_t V(const LinearCrossEntropy& op) { return weight_of(op.head).num_rows(); }

    std::int64_t rows = 0;
    TensorView logits, gradients;
    double* losses = nullptr;  // (rows)
    Product forward, backward;
    WeightGradient head_gradient;
};

// Loss of one row; its logits are overwritten, and `gradient` becomes that of `scale` times it.
template <typename T>
double finish_row(float* logits, T* gradient, std::int64_t V, std::int32_t target, double scale,
                  const simd::Loops& loops, const simd::RowLoops<T>& rows) {
    if (target == kIgnoreTarget) {
        std::fill_n(gradient, V, T(0));
        return 0;
    }
    RM_CHECK(target >= 0 && target < V, "target {} is outside the vocabulary of {}", target, V);
    const double target_logit = logits[target];
    float max = 0;
    const double sum = loops.exp_row(logits, V, &max);
    const auto factor = static_cast<float>(scale / sum);
    // Taken before rounding: the target's gradient is the difference of two near numbers.
    const float at_target = logits[target] * factor - static_cast<float>(scale);
    rows.scale(logits, factor, gradient, V);
    rows.round(&at_target, gradient + target, 1);
    return std::log(sum) + static_cast<double>(max) - target_logit;
}

void finish_rows(const Layout& layout, std::int64_t rows, const std::int32_t* targets, double scale,
                 Context& context) {
    const std::int64_t V = layout.logits.dim(1);
    with_rows("linear_cross_entropy", layout.gradients, context, [&]<typename T>(const auto& of) {
        context.workers.for_blocks(rows, 8, [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t i = first; i < first + count; ++i) {
                layout.losses[i] =
                    finish_row(layout.logits.as<float>() + i * V, layout.gradients.as<T>() + i * V,
                               V, targets[i], scale, context.loops, of);
            }
        });
    });
}

}  // namespace

Bytes scratch_bytes(const LinearCrossEntropy& op, const Context& context) {
    Scratch scratch;
    const Layout layout(op, context, scratch);
    return scratch.used();
}

void run(const LinearCrossEntropy& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout(op, context, scratch);
    const std::int64_t T = op.x.dim(0);
    const auto* targets = op.targets.as<std::int32_t>();
    double& loss_sum = *op.loss_sum.as<double>();
    for (std::int64_t start = 0; start < T; start += layout.rows) {
        const std::int64_t rows = std::min(layout.rows, T - start);
        const TensorView x = op.x.rows(start, rows);
        layout.forward.run(x, layout.logits.rows(0, rows), Into::overwrite, context);
        finish_rows(layout, rows, targets + start, op.scale, context);
        for (std::int64_t i = 0; i < rows; ++i)
            loss_sum += layout.losses[i];
        if (op.d_x.empty()) continue;
        const TensorView gradients = layout.gradients.rows(0, rows);
        layout.backward.run(gradients, op.d_x.rows(start, rows), Into::overwrite, context);
        layout.head_gradient.run(gradients, x, op.d_head, context);
    }
}

}  // namespace rm::cpu
