#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace rm {

// The median; for an even count, the upper of the two middle values. `values` is not empty.
inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// A rank that works longer on a step than the others, so that they wait for it.
struct Straggler {
    std::size_t rank = 0;  // its index in `work`
    double seconds = 0;    // its work
    double others = 0;     // the median of the others
};
constexpr double kStragglerFactor = 1.15;

// The slowest rank, if it works longer than kStragglerFactor times the median of the others.
// `work`: by rank, a step's seconds minus its waiting for other ranks. Ranks end a step together
// and take the same time; a slow rank shows by having waited less.
inline std::optional<Straggler> find_straggler(const std::vector<double>& work) {
    if (work.size() < 2) return std::nullopt;
    const auto slowest = std::max_element(work.begin(), work.end());
    std::vector<double> others(work.begin(), slowest);
    others.insert(others.end(), slowest + 1, work.end());
    const double usual = median(std::move(others));
    if (!(*slowest > kStragglerFactor * usual)) return std::nullopt;
    return Straggler{static_cast<std::size_t>(slowest - work.begin()), *slowest, usual};
}

}  // namespace rm
