#pragma once

#include "tests/kernels/naive.h"

// The naive loops of the loss, with the vocabulary whole or cut over ranks.
namespace rm::test {

template <typename T, typename S>
std::vector<T> NaiveKernels<T, S>::logits_of(const T* x, const PreparedWeight* head) {
    const std::int64_t C = head->num_columns();
    std::vector<T> logits;
    for (std::int64_t v = 0; v < head->num_rows(); ++v)
        logits.push_back(dot(x, weight_of(head) + v * C, C));
    return logits;
}

// Gradients of scale * (lse - logits[target]); a target outside this part contributes nothing.
template <typename T, typename S>
void NaiveKernels<T, S>::spread(const std::vector<T>& logits, T lse, std::int64_t target,
                                double scale, const PreparedWeight* head, const T* x, T* d_x,
                                T* d_head) {
    const std::int64_t C = head->num_columns();
    for (std::int64_t v = 0; v < head->num_rows(); ++v) {
        const T p = std::exp(logits[static_cast<std::size_t>(v)] - lse);
        const T d_logit = rounded(static_cast<T>(scale) * (p - (v == target ? T(1) : T(0))));
        for (std::int64_t c = 0; c < C; ++c) {
            d_x[c] += d_logit * weight_of(head)[v * C + c];
            d_head[v * C + c] += d_logit * x[c];
        }
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const LinearCrossEntropy& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1);
    In all_x(op.x);
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const T* x = all_x + t * C;
        if (!op.d_x.empty()) std::memset(op.d_x.rows(t, 1).data(), 0, C * sizeof(S));
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        double& loss = op.losses.as<double>()[t];
        loss = 0;
        if (target == kIgnoreTarget) continue;
        const std::vector<T> logits = logits_of(x, op.head);
        const T max = *std::max_element(logits.begin(), logits.end());
        const T lse = max + std::log(sum_of_powers(logits, max));
        loss = lse - logits[static_cast<std::size_t>(target)];
        *op.loss_sum.as<double>() += loss;
        if (op.d_x.empty()) continue;
        Out d_x(op.d_x.rows(t, 1));
        spread(logits, lse, target, op.scale, op.head, x, d_x, of(op.d_head));
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const HeadStatistics& op, Workspace, Stream&) {
    const std::int64_t V = op.head->num_rows();
    In x(op.x);
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        double* out = op.statistics.as<double>() + 3 * t;
        std::fill_n(out, 3, 0.0);
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        if (target == kIgnoreTarget) continue;
        const std::vector<T> logits = logits_of(x + t * op.x.dim(1), op.head);
        const std::int64_t row = target - op.rows.first;
        const T max = *std::max_element(logits.begin(), logits.end());
        out[0] = max;
        out[1] = sum_of_powers(logits, max);
        if (row >= 0 && row < V) out[2] = logits[static_cast<std::size_t>(row)];
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const CombineHeadStatistics& op, Workspace, Stream&) {
    const std::int64_t G = op.parts.dim(0), T_ = op.parts.dim(1);
    for (std::int64_t t = 0; t < T_; ++t) {
        double& loss = op.losses.as<double>()[t];
        op.lse.as<double>()[t] = loss = 0;
        if (op.targets.as<std::int32_t>()[t] == kIgnoreTarget) continue;
        T lse = -std::numeric_limits<T>::infinity(), target_logit = 0;
        for (std::int64_t g = 0; g < G; ++g) {
            const double* part = op.parts.as<double>() + 3 * (g * T_ + t);
            const T other = static_cast<T>(part[0]) + std::log(static_cast<T>(part[1]));
            const T max = std::max(lse, other);
            lse = max + std::log(std::exp(lse - max) + std::exp(other - max));
            target_logit += static_cast<T>(part[2]);
        }
        op.lse.as<double>()[t] = lse;
        loss = lse - target_logit;
        *op.loss_sum.as<double>() += loss;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const HeadBwd& op, Workspace, Stream&) {
    const std::int64_t C = op.x.dim(1);
    In all_x(op.x);
    std::memset(op.d_x.data(), 0, op.d_x.bytes().size());
    for (std::int64_t t = 0; t < op.x.dim(0); ++t) {
        const std::int32_t target = op.targets.as<std::int32_t>()[t];
        if (target == kIgnoreTarget) continue;
        const T* x = all_x + t * C;
        Out d_x(op.d_x.rows(t, 1));
        spread(logits_of(x, op.head), static_cast<T>(op.lse.as<double>()[t]),
               target - op.rows.first, op.scale, op.head, x, d_x, of(op.d_head));
    }
}

}  // namespace rm::test
