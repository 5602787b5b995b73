#pragma once

#include <algorithm>

#include "base/random.h"
#include "base/units.h"

namespace rm {

struct BackoffLimits {
    Seconds first{0.2};
    Seconds longest{15};
};

// Growing pauses between attempts to reconnect: doubled each time, then cut to a random part
// between one half and the whole, so that the workers of a cluster do not return in step.
class Backoff {
public:
    Backoff(BackoffLimits limits, std::uint64_t seed) : limits_(limits), rng_(seed) {}

    Seconds next() {
        const double whole = current_.value;
        current_.value = std::min(2 * whole, limits_.longest.value);
        return Seconds{whole * (0.5 + 0.5 * rng_.uniform())};
    }
    void reset() { current_ = limits_.first; }

private:
    BackoffLimits limits_;
    Seconds current_ = limits_.first;
    Rng rng_;
};

}  // namespace rm
