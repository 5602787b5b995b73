#include "kernels/tensor.h"

#include <charconv>

namespace rm {

std::string_view to_string(DType dtype) {
    switch (dtype) {
        case DType::f64:
            return "f64";
        case DType::f32:
            return "f32";
        case DType::bf16:
            return "bf16";
        case DType::i32:
            return "i32";
        case DType::u8:
            return "u8";
    }
    return "?";
}

std::int64_t size_of(DType dtype) {
    switch (dtype) {
        case DType::f64:
            return 8;
        case DType::f32:
        case DType::i32:
            return 4;
        case DType::bf16:
            return 2;
        case DType::u8:
            return 1;
    }
    return 0;
}

TensorView::TensorView(void* data, DType dtype, std::initializer_list<std::int64_t> shape)
    : data_(data), dtype_(dtype), rank_(static_cast<int>(shape.size())) {
    RM_CHECK(shape.size() <= kMaxRank, "a tensor of {} dims; at most {}", shape.size(), kMaxRank);
    std::size_t i = 0;
    for (const std::int64_t size : shape)
        shape_[i++] = size;
}

std::int64_t TensorView::num_elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank_; ++i)
        product *= dim(i);
    return product;
}

TensorView TensorView::rows(std::int64_t first, std::int64_t count) const {
    RM_CHECK(rank_ > 0 && first >= 0 && count >= 0 && first + count <= dim(0),
             "rows {}+{} of a tensor {}", first, count, shape_string(*this));
    TensorView slice = *this;
    const std::int64_t row_bytes = dim(0) == 0 ? 0 : num_bytes().value / dim(0);
    slice.shape_[0] = count;
    if (data_ != nullptr) slice.data_ = static_cast<std::byte*>(data_) + first * row_bytes;
    return slice;
}

TensorView TensorView::reshaped(std::initializer_list<std::int64_t> shape) const {
    TensorView other(data_, dtype_, shape);
    RM_CHECK(other.num_elements() == num_elements(), "{} reshaped to {}", shape_string(*this),
             shape_string(other));
    return other;
}

std::span<std::byte> TensorView::bytes() const {
    return {static_cast<std::byte*>(data_), usize(num_bytes().value)};
}

std::string shape_string(const TensorView& tensor) {
    std::string text = "(";
    for (int i = 0; i < tensor.rank(); ++i)
        text += format("{}{}", i == 0 ? "" : ", ", tensor.dim(i));
    return format("{}) {}", text, to_string(tensor.dtype()));
}

std::int64_t Dims::operator[](std::string_view letter) const {
    for (std::size_t i = 0; i < num_bound_; ++i) {
        if (bound_[i].letter == letter) return bound_[i].value;
    }
    RM_CHECK(false, "{}: dim {} was never bound", op_, letter);
    return 0;
}

std::string Dims::text() const {
    std::string text;
    for (std::size_t i = 0; i < num_bound_; ++i)
        text += format("{}{} {}", i == 0 ? "" : ", ", bound_[i].letter, bound_[i].value);
    return text;
}

Dims& Dims::bind(std::string_view names, const TensorView& tensor, std::string_view name) {
    const std::string_view all = names;
    int at = 0;
    while (!names.empty()) {
        const std::size_t space = names.find(' ');
        RM_CHECK(at < tensor.rank(), "{}: {} should be ({}), is {}", op_, name, all,
                 shape_string(tensor));
        bind_one(names.substr(0, space), tensor.dim(at++), name);
        names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
    }
    RM_CHECK(at == tensor.rank(), "{}: {} should be ({}), is {}", op_, name, all,
             shape_string(tensor));
    return *this;
}

void Dims::bind_one(std::string_view letter, std::int64_t value, std::string_view tensor) {
    if (letter.front() >= '0' && letter.front() <= '9') {
        std::int64_t literal = 0;
        std::from_chars(letter.data(), letter.data() + letter.size(), literal);
        RM_CHECK(literal == value, "{}: a dim of {} should be {}, is {}", op_, tensor, literal,
                 value);
        return;
    }
    for (std::size_t i = 0; i < num_bound_; ++i) {
        if (bound_[i].letter != letter) continue;
        RM_CHECK(bound_[i].value == value, "{}: {} is {} in {} but {} in {}", op_, letter, value,
                 tensor, bound_[i].value, bound_[i].tensor);
        return;
    }
    RM_CHECK(num_bound_ < bound_.size(), "{}: too many dims", op_);
    bound_[num_bound_++] = {letter, value, tensor};
}

}  // namespace rm
