#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/tensor.h"

namespace rm {

struct NonFinite {
    std::int64_t element = 0;
    double value = 0;  // NaN or an infinity
};

// Finds the first NaN or infinity in a floating-point tensor in host memory. Runs at memory
// bandwidth.
std::optional<NonFinite> find_nonfinite(const TensorView& tensor);

// Element `i` of a row-major tensor as its coordinates: "[3, 17]".
std::string coordinates_text(std::int64_t i, const std::vector<std::int64_t>& shape);

}  // namespace rm
