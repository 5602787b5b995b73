#include "controller/curves/extremes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rm {
namespace {

// The indices of [begin, end) to keep, ascending.
void find_extremes(const CurveLine& part, std::size_t begin, std::size_t end,
                   std::vector<std::size_t>& kept) {
    std::size_t low = begin;
    std::size_t high = begin;
    kept.clear();
    for (std::size_t i = begin; i < end; ++i) {
        const double value = part.values[i];
        if (!std::isfinite(value)) {
            kept.push_back(i);
            continue;
        }
        if (!(part.values[low] <= value)) low = i;
        if (!(part.values[high] >= value)) high = i;
    }
    kept.insert(kept.end(), {low, high});
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
}

}  // namespace

void append_extremes(const CurveLine& part, std::size_t group, CurveLine& to) {
    if (part.size() == 0) return;
    if (group <= 1) {
        to.steps.insert(to.steps.end(), part.steps.begin(), part.steps.end());
        to.values.insert(to.values.end(), part.values.begin(), part.values.end());
        return;
    }
    const std::size_t last = part.size() - 1;
    to.add(part.steps.front(), part.values.front());
    std::vector<std::size_t> kept;
    for (std::size_t begin = 1; begin < last; begin += group) {
        find_extremes(part, begin, std::min(begin + group, last), kept);
        for (const std::size_t i : kept)
            to.add(part.steps[i], part.values[i]);
    }
    if (last > 0) to.add(part.steps[last], part.values[last]);
}

}  // namespace rm
