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
    const double scale = *matrix.scale.as<float>();
    std::vector<double> numbers(usize(matrix.codes.num_elements()));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = from_fp8(matrix.format, codes[i]) * scale;
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

void round_to_fp8(const TensorView& weight) {
    const float factor = fp8_scale(Fp8::e4m3, largest_of(weight));
    auto* w = weight.as<double>();
    for (std::int64_t i = 0; i < weight.num_elements(); ++i) {
        const std::uint8_t code = to_fp8(Fp8::e4m3, static_cast<float>(w[i]) * factor);
        w[i] = static_cast<double>(from_fp8(Fp8::e4m3, code)) / factor;
    }
}

void run(const Quantize& op, const Dims& dims) {
    const double* x = op.x.as<double>();
    const float amax = largest_of(op.x);
    *op.amax.as<float>() = amax;
    if (op.scaling == Scaling::current) op.set_scale(1 / fp8_scale(op.format(), amax));
    const float factor = 1 / op.scale();
    if (!op.rows.empty()) write_rows(op.rows, x, factor, op.x.num_elements());
    if (!op.columns.empty()) write_columns(op.columns, x, factor, dims);
    if (op.merges()) *op.largest.as<float>() = std::max(*op.largest.as<float>(), amax);
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
