#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ref/ref_ops.h"

// By the definitions of kernels/fp8.h, a number at a time.
namespace rm::ref {
namespace {

float largest_of(const TensorView& x) {
    float largest = 0;
    for (std::int64_t i = 0; i < x.num_elements(); ++i)
        largest = std::max(largest, std::abs(static_cast<float>(x.as<double>()[i])));
    return largest;
}

// The numbers, dense.
std::vector<double> numbers_of(const Fp8Matrix& matrix) {
    const auto* codes = matrix.codes.as<std::uint8_t>();
    const std::int64_t columns = matrix.codes.dim(1);
    std::vector<double> numbers(usize(matrix.codes.num_elements()));
    for (std::int64_t i = 0; i < std::ssize(numbers); ++i) {
        const double scale = matrix.scale_at(i / columns, i % columns);
        numbers[usize(i)] = from_fp8(matrix.format, codes[i]) * scale;
    }
    return numbers;
}

TensorView view_of(std::vector<double>& numbers, std::initializer_list<std::int64_t> shape) {
    return {numbers.data(), DType::f64, shape};
}

void write_rows(const Fp8Matrix& to, const double* x, float factor, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to.codes.as<std::uint8_t>()[i] = to_fp8(to.format, static_cast<float>(x[i]) * factor);
}

void write_columns(const Fp8Matrix& to, const double* x, float factor, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"], P = dims["P"];
    auto* codes = to.codes.as<std::uint8_t>();
    for (std::int64_t c = 0; c < C; ++c) {
        for (std::int64_t t = 0; t < P; ++t) {
            const float number = t < T ? static_cast<float>(x[t * C + c]) * factor : 0.0f;
            codes[c * P + t] = to_fp8(to.format, number);
        }
    }
}

}  // namespace

void add_effect(const Quantize& op) {
    constexpr double kMost = 0x1p48;
    Fp8Effect effect;
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
        const double x = static_cast<float>(op.x.as<double>()[i]);
        const double scale = op.rows.scale_at(i / op.x.dim(1), i % op.x.dim(1));
        if (!std::isfinite(x)) ++effect.nonfinite;
        if (!std::isfinite(x) || x == 0) continue;
        const double number = from_fp8(op.format(), op.rows.codes.as<std::uint8_t>()[i]);
        const double counted = std::clamp(x / scale, -kMost, kMost);
        ++effect.nonzero;
        if (number == 0) ++effect.flushed;
        if (std::abs(x / scale) > largest(op.format())) ++effect.saturated;
        effect.squares += counted * counted * scale * scale;
        effect.squared_error += (counted - number) * (counted - number) * scale * scale;
    }
    op.add_effect(effect);
}

void round_to_fp8(const TensorView& weight) {
    const float factor = fp8_scale(Fp8::e4m3, largest_of(weight));
    auto* w = weight.as<double>();
    for (std::int64_t i = 0; i < weight.num_elements(); ++i) {
        const std::uint8_t code = to_fp8(Fp8::e4m3, static_cast<float>(w[i]) * factor);
        w[i] = static_cast<double>(from_fp8(Fp8::e4m3, code)) / factor;
    }
}

void widen(const Fp8Matrix& matrix, const TensorView& to) {
    const auto* codes = matrix.codes.as<std::uint8_t>();
    for (std::int64_t i = 0; i < to.num_elements(); ++i) {
        to.as<double>()[i] = static_cast<double>(from_fp8(matrix.format, codes[i])) *
                             static_cast<double>(*matrix.scale.as<float>());
    }
}

void run(const Fp8Scales& op, const Dims& dims) {
    const std::int64_t S = dims["S"];
    for (std::int64_t s = 0; s < S; ++s) {
        float largest = 0;
        for (std::int64_t r = 0; r < dims["R"]; ++r)
            largest = std::max(largest, op.maxima.as<float>()[r * S + s]);
        op.scales.as<float>()[s] = 1 / fp8_scale(Fp8::e4m3, largest);
    }
}

void run(const Quantize& op, const Dims& dims) {
    if (op.blocks()) return quantize_blocks(op);
    const double* x = op.x.as<double>();
    const float amax = largest_of(op.x);
    *op.amax.as<float>() = amax;
    if (op.scaling == Scaling::current) op.set_scale(1 / fp8_scale(op.format(), amax));
    const float factor = 1 / op.scale();
    if (!op.rows.empty()) write_rows(op.rows, x, factor, op.x.num_elements());
    if (!op.columns.empty()) write_columns(op.columns, x, factor, dims);
    if (op.merges()) *op.largest.as<float>() = std::max(*op.largest.as<float>(), amax);
    if (op.is_observed()) add_effect(op);
}

void run(const Fp8LinearFwd& op, const Dims& dims) {
    std::vector<double> x = numbers_of(op.x);
    run(LinearFwd{.x = view_of(x, {dims["T"], dims["K"]}),
                  .weight = op.weight,
                  .y = op.y,
                  .into = op.into},
        dims);
}

void run(const Fp8LinearBwdInput& op, const Dims& dims) {
    std::vector<double> d_y = numbers_of(op.d_y);
    run(LinearBwdInput{.d_y = view_of(d_y, {dims["T"], dims["N"]}),
                       .weight = op.weight,
                       .d_x = op.d_x,
                       .into = op.into},
        dims);
}

void run(const Fp8LinearBwdWeight& op, const Dims& dims) {
    const auto N = dims["N"], K = dims["K"], P = dims["P"];
    const std::vector<double> d_y = numbers_of(op.d_y), x = numbers_of(op.x);
    auto* d_weight = op.d_weight.as<double>();
    for (std::int64_t n = 0; n < N; ++n) {
        for (std::int64_t k = 0; k < K; ++k) {
            for (std::int64_t t = 0; t < P; ++t)
                d_weight[n * K + k] += d_y[usize(n * P + t)] * x[usize(k * P + t)];
        }
    }
}

}  // namespace rm::ref
