#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/kernels.h"

namespace rm {

// The rows of a vocabulary that a view of `here` rows holds.
class VocabularyPart {
public:
    static constexpr std::int64_t kElsewhere = -1;

    VocabularyPart(const RowShare& rows, std::int64_t here)
        : first_(rows.first), here_(here), size_(rows.total == 0 ? here : rows.total) {}

    std::int64_t first() const { return first_; }
    std::int64_t size() const { return size_; }  // of the whole vocabulary

    // The view's row for `id`, a token or target, or kElsewhere. One outside the vocabulary is a
    // CheckError that says `what` it is and `at` which token.
    std::int64_t row_of(std::int64_t id, std::string_view what, std::int64_t at) const {
        RM_CHECK(id >= 0 && id < size_, "{} {} at {} is outside the vocabulary of {}", what, id, at,
                 size_);
        const std::int64_t row = id - first_;
        return row >= 0 && row < here_ ? row : kElsewhere;
    }

private:
    std::int64_t first_ = 0, here_ = 0, size_ = 0;
};

}  // namespace rm
