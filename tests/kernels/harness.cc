#include "tests/kernels/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "kernels/bf16.h"

namespace rm::test {
namespace {

// A bf16 number as a type of its own.
struct Bf16Number {
    Bf16Number() = default;
    explicit Bf16Number(double value) : bits(to_bf16(static_cast<float>(value))) {}
    explicit operator double() const { return from_bf16(bits); }
    Bf16 bits = 0;
};

template <typename T>
std::vector<std::byte> encode_as(std::span<const double> numbers) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(T));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = static_cast<T>(numbers[i]);
        std::memcpy(&bytes[i * sizeof(T)], &number, sizeof(T));
    }
    return bytes;
}

template <typename T>
std::vector<double> decode_as(std::span<const std::byte> bytes) {
    std::vector<double> numbers(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        T number{};
        std::memcpy(&number, &bytes[i * sizeof(T)], sizeof(T));
        numbers[i] = static_cast<double>(number);
    }
    return numbers;
}

std::vector<std::byte> encode(DType dtype, std::span<const double> numbers) {
    switch (dtype) {
        case DType::f64:
            return encode_as<double>(numbers);
        case DType::f32:
            return encode_as<float>(numbers);
        case DType::i32:
            return encode_as<std::int32_t>(numbers);
        case DType::bf16:
            return encode_as<Bf16Number>(numbers);
        case DType::u8:
            return encode_as<std::uint8_t>(numbers);
    }
    return {};
}

std::vector<double> decode(DType dtype, std::span<const std::byte> bytes) {
    switch (dtype) {
        case DType::f64:
            return decode_as<double>(bytes);
        case DType::f32:
            return decode_as<float>(bytes);
        case DType::i32:
            return decode_as<std::int32_t>(bytes);
        case DType::bf16:
            return decode_as<Bf16Number>(bytes);
        case DType::u8:
            return decode_as<std::uint8_t>(bytes);
    }
    return {};
}

std::size_t num_elements(Shape shape) {
    return static_cast<std::size_t>(TensorView(nullptr, DType::f64, shape).num_elements());
}

double ulp(double x, DType dtype) {
    if (dtype == DType::bf16) {
        const Bf16 a = to_bf16(std::abs(static_cast<float>(x)));
        return from_bf16(static_cast<Bf16>(a + 1)) - from_bf16(a);
    }
    if (dtype == DType::f32) {
        const float a = std::abs(static_cast<float>(x));
        return std::nextafter(a, std::numeric_limits<float>::infinity()) - a;
    }
    return std::nextafter(std::abs(x), std::numeric_limits<double>::infinity()) - std::abs(x);
}

// Infinite when one is finite and the other not, or either is NaN.
double difference(double a, double b) {
    if (a == b) return 0;
    const double d = std::abs(a - b);
    return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

struct Worst {
    double error = 0;
    std::size_t at = 0;
};

Worst worst_difference(const Values& a, const Values& b) {
    Worst worst;
    for (std::size_t i = 0; i < a.numbers.size(); ++i) {
        const double error = difference(a.numbers[i], b.numbers[i]);
        if (error > worst.error) worst = {error, i};
    }
    return worst;
}

double largest(const Values& values) {
    double max = 0;
    for (const double x : values.numbers) {
        if (std::isfinite(x)) max = std::max(max, std::abs(x));
    }
    return max;
}

}  // namespace

Harness::Harness(Kernels& kernels, std::uint64_t seed, DType precision)
    : kernels_(kernels),
      seed_(seed),
      precision_(precision),
      stream_(kernels.device().make_stream("test")) {}

DType Harness::dtype_of_role(Role role) const {
    switch (role) {
        case Role::compute:
            return kernels_.types().compute;
        case Role::accum:
            return kernels_.types().accum;
        case Role::master:
            return kernels_.types().master;
        case Role::f64:
            return DType::f64;
        case Role::f32:
            return DType::f32;
        case Role::u8:
            return DType::u8;
        case Role::bf16:
            return DType::bf16;
        case Role::i32:
            return DType::i32;
    }
    return DType::f64;
}

TensorView Harness::upload(DType dtype, Shape shape, std::span<const double> numbers) {
    const Tensor& tensor =
        tensors_.emplace_back(kernels_.device(), MemoryKind::activations, dtype, shape);
    const std::vector<std::byte> bytes = encode(dtype, numbers);
    kernels_.device().upload(bytes.data(), tensor, *stream_);
    stream_->synchronize();
    return tensor;
}

TensorView Harness::input(Role role, Shape shape, double scale) {
    return input(role, shape, [scale](std::size_t, double normal) { return scale * normal; });
}

TensorView Harness::input(Role role, Shape shape,
                          const std::function<double(std::size_t, double)>& change) {
    std::vector<double> numbers(num_elements(shape));
    const std::uint64_t id = num_inputs_++;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = static_cast<float>(change(i, normal_at(seed_, id, i)));
        const bool rounds = role == Role::compute && precision_ == DType::bf16;
        numbers[i] = rounds ? from_bf16(to_bf16(number)) : number;
    }
    return upload(dtype_of_role(role), shape, numbers);
}

TensorView Harness::filled(Role role, Shape shape, double value) {
    return upload(dtype_of_role(role), shape, std::vector<double>(num_elements(shape), value));
}

TensorView Harness::output(Role role, Shape shape) {
    return filled(role, shape, std::numeric_limits<double>::quiet_NaN());
}

TensorView Harness::tokens(std::int64_t count, std::int64_t below, std::int64_t first) {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    const std::uint64_t id = num_inputs_++;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto range = static_cast<std::uint64_t>(below - first);
        numbers[i] =
            static_cast<double>(first + static_cast<std::int64_t>(random_at(seed_, id, i) % range));
    }
    return upload(DType::i32, {count}, numbers);
}

const PreparedWeight& Harness::prepared(std::int64_t num_rows, std::int64_t num_columns) {
    const double scale = 1 / std::sqrt(static_cast<double>(num_columns));
    return prepared(input(Role::master, {num_rows, num_columns}, scale));
}

Fp8Matrix Harness::codes(std::int64_t rows, std::int64_t columns, Fp8 format) {
    return {filled(Role::u8, {rows, columns}, 0xee), output(Role::f32, {1}), format};
}
Fp8Matrix Harness::block_codes(std::int64_t rows, std::int64_t columns, Fp8 format) {
    return {filled(Role::u8, {rows, columns}, 0xee), output(Role::f32, {rows, fp8_blocks(columns)}),
            format};
}

const PreparedWeight& Harness::prepared(const Fp8Matrix& weight) {
    const TensorView& codes = weight.codes;
    weights_.push_back(kernels_.make_prepared(codes.dim(0), codes.dim(1), WeightForm::fp8));
    kernels_.prepare(weight, *weights_.back(), *stream_);
    return *weights_.back();
}

const PreparedWeight& Harness::prepared(const TensorView& weight, WeightForm form) {
    weights_.push_back(kernels_.make_prepared(weight.dim(0), weight.dim(1), form));
    kernels_.prepare(weight, *weights_.back(), *stream_);
    return *weights_.back();
}

Workspace Harness::make_workspace(Bytes size) {
    const Buffer& buffer =
        workspaces_.emplace_back(kernels_.device().allocate(size, MemoryKind::workspace));
    return {buffer.data(), size};
}

std::vector<double> Harness::read(const TensorView& tensor) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.num_bytes().value));
    kernels_.device().download(tensor, bytes.data(), *stream_);
    stream_->synchronize();
    return decode(tensor.dtype(), bytes);
}

Outputs Harness::outputs() {
    Outputs outputs;
    for (const auto& [name, tensor] : kept_)
        outputs[name] = {read(tensor), tensor.dtype()};
    return outputs;
}

void expect_as_good_as_naive(const Outputs& x, const Outputs& reference, const Outputs& naive,
                             double more_f32_ulps) {
    ASSERT_EQ(x.size(), reference.size());
    for (const auto& [name, values] : x) {
        SCOPED_TRACE(name);
        const Values& r = reference.at(name);
        ASSERT_EQ(values.numbers.size(), r.numbers.size());
        ASSERT_GE(values.numbers.size(), 256U) << "too few elements to derive a tolerance from";
        const Worst naive_error = worst_difference(naive.at(name), r);
        ASSERT_TRUE(std::isfinite(naive_error.error)) << "the naive result is no yardstick";
        const double tolerance = 2 * naive_error.error + ulp(largest(r), values.dtype) +
                                 more_f32_ulps * ulp(largest(r), DType::f32);
        const Worst worst = worst_difference(values, r);
        EXPECT_LE(worst.error, tolerance)
            << "element " << worst.at << " is " << values.numbers[worst.at] << ", should be "
            << r.numbers[worst.at] << "; naive is off by at most " << naive_error.error;
    }
}

void expect_identical(const Outputs& x, const Outputs& y) {
    ASSERT_EQ(x.size(), y.size());
    for (const auto& [name, values] : x) {
        const Values& others = y.at(name);
        ASSERT_EQ(values.numbers.size(), others.numbers.size()) << name;
        std::size_t num_different = 0;
        std::size_t first = 0;
        for (std::size_t i = values.numbers.size(); i-- > 0;) {
            if (std::bit_cast<std::uint64_t>(values.numbers[i]) ==
                std::bit_cast<std::uint64_t>(others.numbers[i])) {
                continue;
            }
            ++num_different;
            first = i;
        }
        EXPECT_EQ(num_different, 0U) << name << " differs first at " << first << ": "
                                     << values.numbers[first] << " and " << others.numbers[first];
    }
}

}  // namespace rm::test
