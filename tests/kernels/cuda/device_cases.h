#pragma once

#include <vector>

#include "tests/kernels/op_cases.h"

namespace rm::test {

// By contract the device kernels accept head dims in multiples of 8 up to 128.
inline bool device_takes(const OpCase& op_case) {
    return op_case.head_dim % 8 == 0 && op_case.head_dim <= 128;
}

// Sizes at which a launcher chooses another kernel, or a kernel another path: row blocks of every
// size, vectors and their remainder, unaligned addresses, more tokens than a segment.
std::vector<OpCase> device_cases();
// Larger cases of the same kind, too slow for more than one schedule.
std::vector<OpCase> large_device_cases();

}  // namespace rm::test
