#pragma once

#include <vector>

#include "tests/kernels/op_cases.h"

namespace rm::test {

// What the device kernels take by contract: head dims in multiples of 8 up to 128.
inline bool device_takes(const OpCase& op_case) {
    return op_case.head_dim % 8 == 0 && op_case.head_dim <= 128;
}

// Sizes at which a launcher chooses another kernel, or a kernel takes another way: every block of a
// row, vectors and what is left over, addresses that are not aligned, more tokens than a segment.
std::vector<OpCase> device_cases();
// The same, so large that one schedule must do.
std::vector<OpCase> large_device_cases();

}  // namespace rm::test
