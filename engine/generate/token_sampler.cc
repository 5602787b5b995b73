#include "engine/generate/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace rm {
std::int32_t likeliest(std::span<const double> logits) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

std::int32_t TokenSampler::choose(std::span<const double> logits) {
    const std::int32_t best = likeliest(logits);
    if (spec_.temperature == 0) return best;
    std::vector<std::int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::int32_t token) { return logits[usize(token)]; });
    const double most = logits[usize(best)];
    std::vector<double> upto;  // sums of weights, the likeliest first
    double sum = 0;
    for (const std::int32_t token : order)
        upto.push_back(sum += std::exp((logits[usize(token)] - most) / spec_.temperature));
    const auto kept = std::ranges::lower_bound(upto, spec_.top_p * sum);
    const auto last = std::min(kept, upto.end() - 1);
    const double at = std::ldexp(static_cast<double>(random_() >> 11), -53) * *last;
    const auto drawn = std::upper_bound(upto.begin(), last, at);
    return order[usize(drawn - upto.begin())];
}

}  // namespace rm
