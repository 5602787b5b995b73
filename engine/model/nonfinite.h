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

// The first element of a floating-point tensor in host memory that is NaN or infinite. Reads at the
// speed of memory.
std::optional<NonFinite> find_nonfinite(const TensorView& tensor);

// Element `i` of a row-major tensor as its coordinates: "[3, 17]".
std::string coordinates_text(std::int64_t i, const std::vector<std::int64_t>& shape);

}  // namespace rm
