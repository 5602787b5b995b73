#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

double log_sum_exp(const std::vector<double>& values) {
    const double max = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (const double value : values)
        sum += std::exp(value - max);
    return max + std::log(sum);
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

void linear_cross_entropy(const LinearCrossEntropy& op) {
    const TensorView& head = weight_of(op.head);
    const bool backward = !op.d_x.empty();
    Dims dims("linear_cross_entropy");
    dims.bind<"T C">(op.x, "x").bind<"V C">(head, "head").bind<"T">(op.targets, "targets");
    dims.bind<"1">(op.loss_sum, "loss_sum");
    if (backward) dims.bind<"T C">(op.d_x, "d_x").bind<"V C">(op.d_head, "d_head");
    const auto T = dims["T"], C = dims["C"], V = dims["V"];
    std::vector<double> logits(static_cast<std::size_t>(V));
    for (std::int64_t t = 0; t < T; ++t) {
        const double* x = op.x.as<double>() + t * C;
        double* d_x = backward ? op.d_x.as<double>() + t * C : nullptr;
        if (backward) std::fill(d_x, d_x + C, 0.0);
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        if (target == kIgnoreTarget) continue;
        RM_CHECK(target >= 0 && target < V, "target {} at {} is outside the vocabulary of {}",
                 target, t, V);
        for (std::int64_t v = 0; v < V; ++v) {
            const double* w = head.as<double>() + v * C;
            double sum = 0;
            for (std::int64_t c = 0; c < C; ++c)
                sum += x[c] * w[c];
            logits[static_cast<std::size_t>(v)] = sum;
        }
        const double lse = log_sum_exp(logits);
        const double target_logit = logits[static_cast<std::size_t>(target)];
        op.loss_sum.as<double>()[0] += lse - target_logit;
        if (!backward) continue;
        for (double& logit : logits)
            logit = op.scale * std::exp(logit - lse);
        logits[static_cast<std::size_t>(target)] -= op.scale;
        backward_row(logits, x, head, d_x, op.d_head.as<double>());
    }
}

}  // namespace rm::ref
