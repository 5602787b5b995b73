#include "engine/model/nonfinite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/format.h"

namespace rm {
namespace {

// Returns the first element whose exponent bits are all ones (NaN or an infinity), else `count`.
// The inner loop has no branch, so that the compiler vectorizes it.
template <typename Bits>
std::int64_t first_with(const void* data, std::int64_t count, Bits exponent) {
    constexpr std::int64_t kBlock = 4096;
    const auto* bits = static_cast<const Bits*>(data);
    for (std::int64_t at = 0; at < count; at += kBlock) {
        const std::int64_t end = std::min(count, at + kBlock);
        Bits bad = 0;
        for (std::int64_t i = at; i < end; ++i)
            bad = static_cast<Bits>(bad | static_cast<Bits>((bits[i] & exponent) == exponent));
        if (bad == 0) continue;
        return std::find_if(bits + at, bits + end,
                            [=](Bits x) { return (x & exponent) == exponent; }) -
               bits;
    }
    return count;
}

std::int64_t first_nonfinite(const TensorView& tensor) {
    const std::int64_t count = tensor.num_elements();
    switch (tensor.dtype()) {
        case DType::f64:
            return first_with<std::uint64_t>(tensor.data(), count, 0x7ff0000000000000U);
        case DType::f32:
            return first_with<std::uint32_t>(tensor.data(), count, 0x7f800000U);
        case DType::bf16:
            return first_with<std::uint16_t>(tensor.data(), count, 0x7f80U);
        case DType::i32:
        case DType::u8:
            break;
    }
    return count;
}

double value_at(const TensorView& tensor, std::int64_t i) {
    switch (tensor.dtype()) {
        case DType::f64:
            return tensor.as<double>()[i];
        case DType::f32:
            return tensor.as<float>()[i];
        case DType::bf16:
            return std::bit_cast<float>(static_cast<std::uint32_t>(tensor.as<std::uint16_t>()[i])
                                        << 16);
        case DType::i32:
            return tensor.as<std::int32_t>()[i];
        case DType::u8:
            return tensor.as<std::uint8_t>()[i];
    }
    return 0;
}

}  // namespace

std::optional<NonFinite> find_nonfinite(const TensorView& tensor) {
    const std::int64_t element = first_nonfinite(tensor);
    if (element == tensor.num_elements()) return std::nullopt;
    return NonFinite{element, value_at(tensor, element)};
}

std::string coordinates_text(std::int64_t i, const std::vector<std::int64_t>& shape) {
    std::string text;
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
        text = format("{}{}{}", i % *size, text.empty() ? "" : ", ", text);
        i /= *size;
    }
    return format("[{}]", text);
}

}  // namespace rm
