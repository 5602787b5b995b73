#include "engine/hf/convert.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/bf16.h"

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

namespace rm {
namespace {

template <typename Stored, typename T, typename Convert>
void convert_all(std::span<const std::byte> from, std::span<T> to, Convert convert) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, from.data() + i * sizeof(Stored), sizeof(Stored));
        to[i] = static_cast<T>(convert(stored));
    }
}

template <typename Stored, typename T, typename Convert>
void store_all(std::span<const T> from, std::span<std::byte> to, Convert convert) {
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Stored stored = convert(static_cast<float>(from[i]));
        std::memcpy(to.data() + i * sizeof(Stored), &stored, sizeof(Stored));
    }
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    if (exponent == 0) {  // subnormal: fraction * 2^-24
        const float value = std::ldexp(static_cast<float>(fraction), -24);
        return sign != 0 ? -value : value;
    }
    const std::uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + 127 - 15;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <typename T>
void widen(StorageType type, std::span<const std::byte> from, std::span<T> to) {
    RM_CHECK(static_cast<std::int64_t>(from.size()) ==
                 static_cast<std::int64_t>(to.size()) * size_of(type),
             "{} bytes of {} for {} elements", from.size(), to_string(type), to.size());
    switch (type) {
        case StorageType::f32:
            return convert_all<float>(from, to, [](float x) { return x; });
        case StorageType::f16:
            return convert_all<std::uint16_t>(from, to, f16_to_f32);
        case StorageType::bf16:
            return convert_all<Bf16>(from, to, from_bf16);
        case StorageType::f64:
        case StorageType::i32:
            break;
    }
    RM_CHECK(false, "{} is not widened", to_string(type));
}

template <typename T>
void narrow(std::span<const T> from, StorageType type, std::span<std::byte> to) {
    RM_CHECK(static_cast<std::int64_t>(to.size()) ==
                 static_cast<std::int64_t>(from.size()) * size_of(type),
             "{} bytes of {} for {} elements", to.size(), to_string(type), from.size());
    if (type == StorageType::f32) return store_all<float>(from, to, [](float x) { return x; });
    RM_CHECK(type == StorageType::bf16, "{} is not written", to_string(type));
    store_all<Bf16>(from, to, to_bf16);
}

template void widen(StorageType, std::span<const std::byte>, std::span<float>);
template void widen(StorageType, std::span<const std::byte>, std::span<double>);
template void narrow(std::span<const float>, StorageType, std::span<std::byte>);
template void narrow(std::span<const double>, StorageType, std::span<std::byte>);

}  // namespace rm
