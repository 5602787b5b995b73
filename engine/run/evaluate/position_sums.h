#pragma once

#include <cstdint>
#include <vector>

#include "engine/train/batch.h"
#include "spec/report.h"

namespace rm {

// Adds up losses by the number of tokens that a target is predicted from: 1 to 16, 17 to 32, 33 to
// 64 and so on, to the context.
class PositionSums {
public:
    explicit PositionSums(std::int64_t context);

    // `losses`: of the micro-batch's tokens.
    void add(const MicroBatch& batch, const std::vector<double>& losses);

    // For each range the sum of its losses and its number of targets: what all ranks add up.
    const std::vector<double>& numbers() const { return numbers_; }
    void set_numbers(std::vector<double> numbers) { numbers_ = std::move(numbers); }

    std::vector<PositionLoss> means() const;

private:
    std::vector<double> numbers_;
};

}  // namespace rm
