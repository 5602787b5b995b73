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

// The workspace of the ops over a head: the logits of some rows.
struct Logits {
    Logits(const PreparedWeight* head, const Context& context, Scratch& scratch)
        : V(weight_of(head).num_rows()),
          rows(chunk_rows(V)),
          values(scratch.floats(rows * V), DType::f32, {rows, V}),
          product(weight_of(head).forward(), context.workers, scratch) {}
    // x (at most `rows`, C)
    void form(const TensorView& x, Context& context) const {
        product.run(x, values.rows(0, x.dim(0)), Into::overwrite, context);
    }
    float* row(std::int64_t i) const { return values.as<float>() + i * V; }

    std::int64_t V = 0, rows = 0;
    TensorView values;
    Product product;
};

// The gradients of those logits, and what they become.
struct Gradients {
    Gradients(const PreparedWeight* head, const Logits& logits, const Context& context,
              Scratch& scratch)
        // f32 gradients replace the logits.
        : values(context.compute == DType::f32 ? logits.values.data()
                                               : scratch.bf16s(logits.rows * logits.V),
                 context.compute, {logits.rows, logits.V}),
          backward(weight_of(head).backward(), context.workers, scratch),
          head_gradient(context, scratch) {}
    void spread(const TensorView& x, const TensorView& d_x, const TensorView& d_head,
                Context& context) const {
        const TensorView gradients = values.rows(0, x.dim(0));
        backward.run(gradients, d_x, Into::overwrite, context);
        head_gradient.run(gradients, x, d_head, context);
    }

    TensorView values;
    Product backward;
    WeightGradient head_gradient;
};

// fn(first, count) for the rows that exist at once, in order.
template <typename Fn>
void for_chunks(std::int64_t T, const Logits& logits, const Fn& fn) {
    for (std::int64_t first = 0; first < T; first += logits.rows)
        fn(first, std::min(logits.rows, T - first));
}
// fn(row) for all of them, by all workers.
template <typename Fn>
void for_rows(std::int64_t rows, Context& context, const Fn& fn) {
    context.workers.for_blocks(rows, 8, [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t i = first; i < first + count; ++i)
            fn(i);
    });
}

// A row's logits become exp(logit - max).
struct Total {
    Total(float* logits, std::int64_t V, const simd::Loops& loops) {
        float highest = 0;
        sum = loops.exp_row(logits, V, &highest);
        max = highest;
    }
    double max = 0, sum = 0;
};

// gradient = factor * powers, less `scale` at the target, which may be elsewhere.
template <typename T>
void write_gradient(const float* powers, T* gradient, std::int64_t V, std::int64_t target,
                    double factor, double scale, const simd::RowLoops<T>& rows) {
    const auto narrow = static_cast<float>(factor);
    if (target == VocabularyPart::kElsewhere) return rows.scale(powers, narrow, gradient, V);
    // Taken before rounding: the target's gradient is the difference of two near numbers.
    const float at_target = powers[target] * narrow - static_cast<float>(scale);
    rows.scale(powers, narrow, gradient, V);
    rows.round(&at_target, gradient + target, 1);
}

// The workspace of an op with gradients.
struct Layout {
    Layout(const PreparedWeight* head, const Context& context, Scratch& scratch)
        : logits(head, context, scratch), gradients(head, logits, context, scratch) {}
    Logits logits;
    Gradients gradients;
};

// Gradients of `rows` rows whose logits have been formed; the first is token `start`. With the row
// of its target, factor(t, target, logits) turns a token's logits into their powers and says what
// these are multiplied by.
template <typename Op, typename Factor>
void finish_rows(const Op& op, const VocabularyPart& part, const Layout& layout, std::int64_t start,
                 std::int64_t rows, Context& context, const Factor& factor) {
    const std::int64_t V = layout.logits.V;
    const auto* targets = op.targets.template as<std::int32_t>();
    const TensorView& gradients = layout.gradients.values;
    with_rows("cross entropy", gradients, context, [&]<typename T>(const auto& loops) {
        for_rows(rows, context, [&](std::int64_t i) {
            T* gradient = gradients.as<T>() + i * V;
            const std::int32_t target = targets[start + i];
            if (target == kIgnoreTarget) return void(std::fill_n(gradient, V, T(0)));
            const std::int64_t at = part.row_of(target, "target", start + i);
            float* logits = layout.logits.row(i);
            const double multiple = factor(start + i, at, logits);
            write_gradient(logits, gradient, V, at, multiple, op.scale, loops);
        });
    });
}

}  // namespace

Bytes scratch_bytes(const LinearCrossEntropy& op, const Context& context) {
    Scratch scratch;
    const Layout layout(op.head, context, scratch);
    return scratch.used();
}

void run(const LinearCrossEntropy& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout(op.head, context, scratch);
    const std::int64_t V = layout.logits.V;
    for_chunks(op.x.dim(0), layout.logits, [&](std::int64_t first, std::int64_t count) {
        const TensorView x = op.x.rows(first, count);
        layout.logits.form(x, context);
        double* losses = op.losses.as<double>() + first;
        std::fill_n(losses, count, 0.0);
        const auto factor = [&](std::int64_t t, std::int64_t target, float* logits) {
            const double target_logit = logits[target];
            const Total total(logits, V, context.loops);
            losses[t - first] = std::log(total.sum) + total.max - target_logit;
            return op.scale / total.sum;
        };
        finish_rows(op, VocabularyPart({}, V), layout, first, count, context, factor);
        for (std::int64_t i = 0; i < count; ++i)
            *op.loss_sum.as<double>() += losses[i];
        if (op.d_x.empty()) return;
        layout.gradients.spread(x, op.d_x.rows(first, count), op.d_head, context);
    });
}

Bytes scratch_bytes(const HeadStatistics& op, const Context& context) {
    Scratch scratch;
    const Logits logits(op.head, context, scratch);
    return scratch.used();
}

void run(const HeadStatistics& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Logits logits(op.head, context, scratch);
    const auto* targets = op.targets.as<std::int32_t>();
    const VocabularyPart part(op.rows, logits.V);
    for_chunks(op.x.dim(0), logits, [&](std::int64_t first, std::int64_t count) {
        logits.form(op.x.rows(first, count), context);
        for_rows(count, context, [&](std::int64_t i) {
            double* out = op.statistics.as<double>() + 3 * (first + i);
            std::fill_n(out, 3, 0.0);
            if (targets[first + i] == kIgnoreTarget) return;
            const std::int64_t at = part.row_of(targets[first + i], "target", first + i);
            if (at != VocabularyPart::kElsewhere) out[2] = logits.row(i)[at];
            const Total total(logits.row(i), logits.V, context.loops);
            out[0] = total.max;
            out[1] = total.sum;
        });
    });
}

namespace {

struct HeadLoss {
    double lse = 0, loss = 0;
};
// The loss from the statistics of one token, which lie `step` apart.
HeadLoss head_loss(const double* statistics, std::int64_t step, std::int64_t G) {
    double max = statistics[0], sum = 0, target_logit = 0;
    for (std::int64_t g = 1; g < G; ++g)
        max = std::max(max, statistics[g * step]);
    for (std::int64_t g = 0; g < G; ++g) {
        const double* part = statistics + g * step;
        sum += part[1] * std::exp(part[0] - max);
        target_logit += part[2];
    }
    const double lse = std::log(sum) + max;
    return {lse, lse - target_logit};
}

}  // namespace

// One thread: a few numbers of each token.
void run(const CombineHeadStatistics& op, Workspace, Context&) {
    const std::int64_t G = op.parts.dim(0), T = op.parts.dim(1);
    const auto* targets = op.targets.as<std::int32_t>();
    for (std::int64_t t = 0; t < T; ++t) {
        HeadLoss token;
        if (targets[t] != kIgnoreTarget) token = head_loss(op.parts.as<double>() + 3 * t, 3 * T, G);
        op.lse.as<double>()[t] = token.lse;
        op.losses.as<double>()[t] = token.loss;
        *op.loss_sum.as<double>() += token.loss;
    }
}

Bytes scratch_bytes(const HeadBwd& op, const Context& context) {
    Scratch scratch;
    const Layout layout(op.head, context, scratch);
    return scratch.used();
}

void run(const HeadBwd& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout(op.head, context, scratch);
    const std::int64_t V = layout.logits.V;
    const auto* lse = op.lse.as<double>();
    const auto factor = [&](std::int64_t t, std::int64_t, float* logits) {
        const Total total(logits, V, context.loops);
        return op.scale * std::exp(total.max - lse[t]);
    };
    for_chunks(op.x.dim(0), layout.logits, [&](std::int64_t first, std::int64_t count) {
        const TensorView x = op.x.rows(first, count);
        layout.logits.form(x, context);
        finish_rows(op, VocabularyPart(op.rows, V), layout, first, count, context, factor);
        layout.gradients.spread(x, op.d_x.rows(first, count), op.d_head, context);
    });
}

}  // namespace rm::cpu
