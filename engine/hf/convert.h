#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/checkpoint/safetensors.h"

// Elements as they lie on disk (little-endian, any alignment) to and from memory.
namespace rm {

float f16_to_f32(std::uint16_t bits);    // exact
float bf16_to_f32(std::uint16_t bits);   // exact
std::uint16_t f32_to_bf16(float value);  // to nearest, ties to even; NaN stays NaN

// F32, F16 and BF16 become wider without rounding. T: float or double.
template <typename T>
void widen(StorageType type, std::span<const std::byte> from, std::span<T> to);

// To F32 or BF16, each element rounded once (from double: to f32 first, as the master weights are).
template <typename T>
void narrow(std::span<const T> from, StorageType type, std::span<std::byte> to);

}  // namespace rm
