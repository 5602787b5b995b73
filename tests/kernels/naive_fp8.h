#pragma once

#include "tests/kernels/naive.h"

// The ops of kernels/ops/fp8_linear.h, by the definitions of kernels/fp8.h.
namespace rm::test {

// Factors of the blocks of height x width numbers of a matrix.
class NaiveFactors {
public:
    template <typename T>
    NaiveFactors(Fp8 format, const T* x, std::int64_t rows, std::int64_t columns,
                 std::int64_t height, std::int64_t width)
        : height_(height), width_(width), across_((columns + width - 1) / width) {
        factors_.resize(static_cast<std::size_t>((rows + height - 1) / height * across_));
        for (std::int64_t i = 0; i < rows * columns; ++i) {
            float& largest = at(i / columns, i % columns);
            largest = std::max(largest, std::abs(static_cast<float>(x[i])));
        }
        for (float& factor : factors_)
            factor = fp8_scale(format, factor);
    }
    float& at(std::int64_t row, std::int64_t column) {
        return factors_[static_cast<std::size_t>(row / height_ * across_ + column / width_)];
    }

private:
    std::int64_t height_, width_, across_;
    std::vector<float> factors_;
};

template <typename T, typename S>
void NaiveKernels<T, S>::round_to_fp8(NaiveWeight<T>& weight) {
    const std::int64_t N = weight.num_rows(), K = weight.num_columns();
    const bool blocks = weight.form() == WeightForm::fp8_blocks;
    NaiveFactors factors(Fp8::e4m3, weight.values.data(), N, K, blocks ? kFp8Block : N,
                         blocks ? kFp8Block : K);
    for (std::int64_t i = 0; i < N * K; ++i) {
        const float factor = factors.at(i / K, i % K);
        T& value = weight.values[static_cast<std::size_t>(i)];
        const std::uint8_t code = to_fp8(Fp8::e4m3, static_cast<float>(value) * factor);
        value = static_cast<T>(from_fp8(Fp8::e4m3, code)) / static_cast<T>(factor);
    }
}

// amax is the caller's.
template <typename T, typename S>
void NaiveKernels<T, S>::quantize_blocks(const Quantize& op) {
    const std::int64_t T_ = op.x.dim(0), C = op.x.dim(1), P = padded_tokens(T_);
    In x(op.x);
    NaiveFactors of_rows(op.format(), &x[0], T_, C, 1, kFp8Block);
    NaiveFactors of_columns(op.format(), &x[0], T_, C, kFp8Block, 1);
    const auto scale = [](const Fp8Matrix& to, std::int64_t row, std::int64_t column) -> float& {
        return to.scale.template as<float>()[row * to.scale.dim(1) + column / kFp8Block];
    };
    for (std::int64_t i = 0; i < P * C; ++i) {
        const std::int64_t t = i / C, c = i % C;
        const float number = t < T_ ? static_cast<float>(x[i]) : 0.0f;
        if (!op.rows.empty() && t < T_) {
            const float factor = of_rows.at(t, c);
            scale(op.rows, t, c) = 1 / factor;
            op.rows.codes.template as<std::uint8_t>()[i] = to_fp8(op.format(), number * factor);
        }
        if (!op.columns.empty()) {
            const float factor = of_columns.at(t, c);
            scale(op.columns, c, t) = 1 / factor;
            op.columns.codes.template as<std::uint8_t>()[c * P + t] =
                to_fp8(op.format(), number * factor);
        }
    }
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Fp8Scales& op, Workspace, Stream&) {
    const std::int64_t R = op.maxima.dim(0), S_ = op.maxima.dim(1);
    std::vector<float> largest(static_cast<std::size_t>(S_));
    for (std::int64_t i = 0; i < R * S_; ++i) {
        float& most = largest[static_cast<std::size_t>(i % S_)];
        most = std::max(most, op.maxima.as<float>()[i]);
    }
    for (std::int64_t s = 0; s < S_; ++s)
        op.scales.as<float>()[s] = 1 / fp8_scale(Fp8::e4m3, largest[static_cast<std::size_t>(s)]);
}

template <typename T, typename S>
void NaiveKernels<T, S>::run(const Quantize& op, Workspace, Stream&) {
    const std::int64_t T_ = op.x.dim(0), C = op.x.dim(1), P = padded_tokens(T_);
    In x(op.x);
    const float amax = largest_of({&x[0], static_cast<std::size_t>(T_ * C)});
    *op.amax.as<float>() = amax;
    if (op.merges())
        *op.largest.template as<float>() = std::max(*op.largest.template as<float>(), amax);
    if (op.blocks()) {
        quantize_blocks(op);
        return op.is_observed() ? add_effect(op) : void();
    }
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
    if (op.is_observed()) add_effect(op);
}

template <typename T, typename S>
void NaiveKernels<T, S>::add_effect(const Quantize& op) {
    Fp8Effect effect;
    In x(op.x);
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
        const double unit = op.rows.scale_at(i / op.x.dim(1), i % op.x.dim(1));
        const double scaled = static_cast<double>(x[i]) / unit;
        if (!std::isfinite(scaled)) effect.nonfinite += 1;
        if (!std::isfinite(scaled) || scaled == 0) continue;
        const double number =
            from_fp8(op.format(), to_fp8(op.format(), static_cast<float>(scaled)));
        const double counted = std::copysign(std::min(std::abs(scaled), 0x1p48), scaled);
        effect.nonzero += 1;
        effect.flushed += number == 0 ? 1 : 0;
        effect.saturated += std::abs(scaled) > largest(op.format()) ? 1 : 0;
        effect.squares += std::pow(counted * unit, 2);
        effect.squared_error += std::pow((counted - number) * unit, 2);
    }
    op.add_effect(effect);
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
