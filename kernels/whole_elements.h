#pragma once

#include <cstdint>
#include <limits>

#include "kernels/kernels.h"

namespace rm {

// The elements of an AdamW op in order, each as an element of the whole tensor.
class WholeElements {
public:
    // The first to be taken is element `i` of the op.
    WholeElements(const AdamW& op, std::int64_t i) : element_(op.first_element + i) {
        if (op.columns == 0) return;
        const std::int64_t row = element_ / op.columns;
        left_ = op.columns - element_ % op.columns;
        element_ = row * op.all_columns + op.first_column + (op.columns - left_);
        columns_ = op.columns;
        gap_ = op.all_columns - op.columns;
    }

    std::uint64_t take() {
        const auto element = static_cast<std::uint64_t>(element_++);
        if (--left_ == 0) {
            left_ = columns_;
            element_ += gap_;
        }
        return element;
    }

private:
    std::int64_t element_ = 0;
    std::int64_t left_ = std::numeric_limits<std::int64_t>::max();  // in this row
    std::int64_t columns_ = 0, gap_ = 0;
};

}  // namespace rm
