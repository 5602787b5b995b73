#include "engine/run/evaluate/position_sums.h"

#include <algorithm>
#include <bit>

namespace rm {
namespace {

constexpr int kFirstBits = 4;  // the first range ends with 16 tokens

std::size_t range_of(std::int64_t tokens) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(tokens - 1)));
    return usize(std::max(0, bits - kFirstBits));
}

std::int64_t first_of(std::size_t range) {
    return 1 + (range == 0 ? 0 : std::int64_t{1} << (range + kFirstBits - 1));
}

}  // namespace

PositionSums::PositionSums(std::int64_t context) : numbers_(2 * (range_of(context) + 1)) {}

void PositionSums::add(const MicroBatch& batch, const std::vector<double>& losses) {
    for (std::size_t t = 0; t < losses.size(); ++t) {
        if (batch.contexts[t] == 0) continue;
        const std::size_t range = range_of(batch.contexts[t]);
        numbers_[2 * range] += losses[t];
        numbers_[2 * range + 1] += 1;
    }
}

std::vector<PositionLoss> PositionSums::means() const {
    std::vector<PositionLoss> means;
    for (std::size_t range = 0; 2 * range < numbers_.size(); ++range) {
        const double sum = numbers_[2 * range], targets = numbers_[2 * range + 1];
        if (targets > 0)
            means.push_back({first_of(range), static_cast<std::int64_t>(targets), sum / targets});
    }
    return means;
}

}  // namespace rm
