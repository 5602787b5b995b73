#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/checkpoint/safetensors.h"

// Converts elements between disk (little-endian, any alignment) and memory.
namespace rm {

float f16_to_f32(std::uint16_t bits);  // exact

// Widens F32, F16 and BF16 without rounding. T: float or double.
template <typename T>
void widen(StorageType type, std::span<const std::byte> from, std::span<T> to);

// Rounds each element once to F32 or BF16 (from double: to f32 first, as the master weights are).
template <typename T>
void narrow(std::span<const T> from, StorageType type, std::span<std::byte> to);

}  // namespace rm
