#pragma once

#include <map>
#include <utility>
#include <vector>

#include "spec/session.h"
#include "worker/inventory/gpu_watch.h"

namespace rm {

// The part of the GPUs' readings that belongs to ranks. Energy counts from the first look at a rank
// by this daemon to its end.
class GpuUses {
public:
    // Adds what the GPU of each rank says to the rank's status. Attempts that are not among
    // `attempts` are forgotten.
    void add_to(const std::vector<AttemptStatus*>& attempts,
                const std::vector<GpuReading>& readings);

private:
    struct Meter {
        double first = 0;  // joules of the GPU
        double last = 0;
    };
    void add_to(RankStatus& rank, Meter& meter, const GpuReading* reading);

    std::map<std::pair<Epoch, int>, Meter> meters_;  // by rank
};

}  // namespace rm
