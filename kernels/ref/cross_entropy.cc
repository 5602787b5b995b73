#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

std::vector<double> logits_of(const double* x, const TensorView& head) {
    const std::int64_t V = head.dim(0), C = head.dim(1);
    std::vector<double> logits;
    for (std::int64_t v = 0; v < V; ++v) {
        const double* w = head.as<double>() + v * C;
        double sum = 0;
        for (std::int64_t c = 0; c < C; ++c)
            sum += x[c] * w[c];
        logits.push_back(sum);
    }
    return logits;
}

// sum of exp(logit - max)
struct Total {
    double max = 0, sum = 0;
    double log_sum_exp() const { return max + std::log(sum); }
};
Total total_of(const std::vector<double>& logits) {
    Total total{.max = *std::max_element(logits.begin(), logits.end())};
    for (const double logit : logits)
        total.sum += std::exp(logit - total.max);
    return total;
}

// The gradient of scale * (lse - logit[target]), in the logits' place; the target may be elsewhere.
void to_gradient(std::vector<double>& logits, double lse, double scale, std::int64_t target) {
    for (double& logit : logits)
        logit = scale * std::exp(logit - lse);
    if (target != VocabularyPart::kElsewhere) logits[usize(target)] -= scale;
}

// d_x and d_head of one row from the gradient of its logits.
void backward_row(const std::vector<double>& d_logits, const double* x, const TensorView& head,
                  double* d_x, double* d_head) {
    const std::int64_t C = head.dim(1);
    const double* w = head.as<double>();
    for (std::size_t v = 0; v < d_logits.size(); ++v) {
        const std::int64_t row = static_cast<std::int64_t>(v) * C;
        for (std::int64_t c = 0; c < C; ++c) {
            d_x[c] += d_logits[v] * w[row + c];
            d_head[row + c] += d_logits[v] * x[c];
        }
    }
}

}  // namespace

void run(const LinearCrossEntropy& op, const Dims& dims) {
    const TensorView& head = weight_of(op.head);
    const bool backward = !op.d_x.empty();
    const auto T = dims["T"], C = dims["C"];
    const VocabularyPart all({}, dims["V"]);
    for (std::int64_t t = 0; t < T; ++t) {
        const double* x = op.x.as<double>() + t * C;
        double* d_x = backward ? op.d_x.as<double>() + t * C : nullptr;
        if (backward) std::fill(d_x, d_x + C, 0.0);
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        double& loss = op.losses.as<double>()[t];
        loss = 0;
        if (target == kIgnoreTarget) continue;
        const std::int64_t row = all.row_of(target, "target", t);
        std::vector<double> logits = logits_of(x, head);
        const double lse = total_of(logits).log_sum_exp();
        loss = lse - logits[usize(row)];
        op.loss_sum.as<double>()[0] += loss;
        if (!backward) continue;
        to_gradient(logits, lse, op.scale, row);
        backward_row(logits, x, head, d_x, op.d_head.as<double>());
    }
}

void run(const HeadStatistics& op, const Dims& dims) {
    const TensorView& head = weight_of(op.head);
    const auto T = dims["T"], C = dims["C"];
    const VocabularyPart part(op.rows, dims["V"]);
    for (std::int64_t t = 0; t < T; ++t) {
        double* out = op.statistics.as<double>() + 3 * t;
        std::fill(out, out + 3, 0.0);
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        if (target == kIgnoreTarget) continue;
        const std::int64_t row = part.row_of(target, "target", t);
        const std::vector<double> logits = logits_of(op.x.as<double>() + t * C, head);
        const Total total = total_of(logits);
        out[0] = total.max;
        out[1] = total.sum;
        if (row != VocabularyPart::kElsewhere) out[2] = logits[usize(row)];
    }
}

void run(const CombineHeadStatistics& op, const Dims& dims) {
    const auto T = dims["T"], G = dims["G"];
    for (std::int64_t t = 0; t < T; ++t) {
        double& lse = op.lse.as<double>()[t];
        double& loss = op.losses.as<double>()[t];
        lse = loss = 0;
        if (op.targets.as<std::int32_t>()[t] == kIgnoreTarget) continue;
        const auto part = [&](std::int64_t g) { return op.parts.as<double>() + 3 * (g * T + t); };
        Total total{.max = part(0)[0]};
        for (std::int64_t g = 1; g < G; ++g)
            total.max = std::max(total.max, part(g)[0]);
        double target_logit = 0;
        for (std::int64_t g = 0; g < G; ++g) {
            total.sum += part(g)[1] * std::exp(part(g)[0] - total.max);
            target_logit += part(g)[2];
        }
        lse = total.log_sum_exp();
        loss = lse - target_logit;
        op.loss_sum.as<double>()[0] += loss;
    }
}

void run(const HeadBwd& op, const Dims& dims) {
    const TensorView& head = weight_of(op.head);
    const auto T = dims["T"], C = dims["C"];
    const VocabularyPart part(op.rows, dims["V"]);
    for (std::int64_t t = 0; t < T; ++t) {
        const double* x = op.x.as<double>() + t * C;
        double* d_x = op.d_x.as<double>() + t * C;
        std::fill(d_x, d_x + C, 0.0);
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        if (target == kIgnoreTarget) continue;
        std::vector<double> logits = logits_of(x, head);
        to_gradient(logits, op.lse.as<double>()[t], op.scale, part.row_of(target, "target", t));
        backward_row(logits, x, head, d_x, op.d_head.as<double>());
    }
}

}  // namespace rm::ref
