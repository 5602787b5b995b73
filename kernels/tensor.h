#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/units.h"

namespace rm {

enum class DType { f64, f32, bf16, i32, u8 };
std::string_view to_string(DType dtype);
std::int64_t size_of(DType dtype);  // bytes

// A dense row-major view of at most four dims; borrows its memory. Token-major by convention: the
// first dim is tokens wherever there are tokens, so that `rows` cuts tiles and chunks.
class TensorView {
public:
    static constexpr int kMaxRank = 4;

    TensorView() = default;
    TensorView(void* data, DType dtype, std::initializer_list<std::int64_t> shape);

    int rank() const { return rank_; }
    std::int64_t dim(int i) const { return shape_[usize(i)]; }
    std::int64_t num_elements() const;
    Bytes num_bytes() const { return {num_elements() * size_of(dtype_)}; }
    DType dtype() const { return dtype_; }
    void* data() const { return data_; }
    bool empty() const { return data_ == nullptr; }

    // Checks the dtype: T is double, float, std::int32_t, std::uint16_t (bf16) or std::uint8_t.
    template <typename T>
    T* as() const;

    TensorView rows(std::int64_t first, std::int64_t count) const;
    TensorView reshaped(std::initializer_list<std::int64_t> shape) const;
    // The view's memory as bytes, for transports and checkpoints.
    std::span<std::byte> bytes() const;

private:
    void* data_ = nullptr;
    DType dtype_ = DType::f32;
    int rank_ = 0;
    std::array<std::int64_t, kMaxRank> shape_{};
};

std::string shape_string(const TensorView& tensor);  // (8, 4, 64) f32

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<double>() {
    return DType::f64;
}
template <>
constexpr DType dtype_of<float>() {
    return DType::f32;
}
template <>
constexpr DType dtype_of<std::uint16_t>() {
    return DType::bf16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
    return DType::i32;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
    return DType::u8;
}

template <typename T>
T* TensorView::as() const {
    RM_CHECK(dtype_of<T>() == dtype_, "a {} tensor read as {}", to_string(dtype_),
             to_string(dtype_of<T>()));
    return static_cast<T*>(data_);
}

// A string literal as a template argument.
template <std::size_t N>
struct DimNames {
    char text[N];
    consteval DimNames(const char (&literal)[N]) {  // NOLINT(google-explicit-constructor)
        for (std::size_t i = 0; i < N; ++i)
            text[i] = literal[i];
        for (std::size_t i = 0; i + 1 < N; ++i) {
            const char c = literal[i];
            const bool ok = c == ' ' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                            (c >= '0' && c <= '9');
            if (!ok) throw "dim names are words and numbers separated by one space";
        }
    }
    constexpr std::string_view view() const { return {text, N - 1}; }
};

// Binds dim names to sizes and checks that every tensor of an op agrees on them:
//     Dims dims("rmsnorm_fwd");
//     dims.bind<"T C">(x, "x").bind<"C">(weight, "weight");
//     const auto T = dims["T"];
// A disagreement is a CheckError that names the op, the tensor, the letter and both values.
class Dims {
public:
    explicit Dims(std::string_view op) : op_(op) {}

    template <DimNames names>
    Dims& bind(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name);
    }
    Dims& bind(std::string_view names, const TensorView& tensor, std::string_view name);
    std::int64_t operator[](std::string_view letter) const;
    std::string text() const;  // T 8, C 64

private:
    void bind_one(std::string_view letter, std::int64_t value, std::string_view tensor);

    struct Bound {
        std::string_view letter;
        std::int64_t value = 0;
        std::string_view tensor;
    };
    std::string_view op_;
    std::array<Bound, 12> bound_{};
    std::size_t num_bound_ = 0;
};

}  // namespace rm
