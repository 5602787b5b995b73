#pragma once

#include "tests/kernels/naive.h"

// The ops of kernels/ops/fp8_linear.h, by the definitions of kernels/fp8.h.
namespace rm::test {

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Quantize& op, Workspace, Stream&) {
    const std::int64_t T_ = op.x.dim(0), C = op.x.dim(1), P = padded_tokens(T_);
    In x(op.x);
    const float amax = largest_of({&x[0], static_cast<std::size_t>(T_ * C)});
    *op.amax.as<float>() = amax;
    if (op.scaling == Scaling::current) op.set_scale(1 / fp8_scale(op.format(), amax));
    const float factor = 1 / op.scale();
    const auto code = [&](std::int64_t t, std::int64_t c) {
        return to_fp8(op.format(), t < T_ ? static_cast<float>(x[t * C + c]) * factor : 0.0f);
    };
    for (std::int64_t c = 0; c < C; ++c) {
        for (std::int64_t t = 0; t < P; ++t) {
            if (!op.rows.empty() && t < T_)
                op.rows.codes.template as<std::uint8_t>()[t * C + c] = code(t, c);
            if (!op.columns.empty())
                op.columns.codes.template as<std::uint8_t>()[c * P + t] = code(t, c);
        }
    }
    if (op.merges())
        *op.largest.template as<float>() = std::max(*op.largest.template as<float>(), amax);
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Fp8LinearFwd& op, Workspace, Stream&) {
    const std::int64_t N = op.y.dim(1), K = op.x.codes.dim(1);
    const std::vector<T> x = numbers_of(op.x);
    Out y(op.y);
    for (std::int64_t i = 0; i < op.y.num_elements(); ++i) {
        const T sum = dot(x.data() + i / N * K, weight_of(op.weight) + i % N * K, K);
        y[i] = op.into == Into::add ? y[i] + sum : sum;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Fp8LinearBwdInput& op, Workspace, Stream&) {
    const std::int64_t N = op.d_y.codes.dim(1), K = op.d_x.dim(1);
    const std::vector<T> d_y = numbers_of(op.d_y);
    Out d_x(op.d_x);
    for (std::int64_t i = 0; i < op.d_x.num_elements(); ++i) {
        T sum = 0;
        for (std::int64_t n = 0; n < N; ++n)
            sum +=
                d_y[static_cast<std::size_t>(i / K * N + n)] * weight_of(op.weight)[n * K + i % K];
        d_x[i] = op.into == Into::add ? d_x[i] + sum : sum;
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Fp8LinearBwdWeight& op, Workspace, Stream&) {
    const std::int64_t P = op.x.codes.dim(1), K = op.d_weight.dim(1);
    const std::vector<T> d_y = numbers_of(op.d_y), x = numbers_of(op.x);
    for (std::int64_t i = 0; i < op.d_weight.num_elements(); ++i)
        of(op.d_weight)[i] += dot(d_y.data() + i / K * P, x.data() + i % K * P, P);
}

}  // namespace rm::test
