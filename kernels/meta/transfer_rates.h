#pragma once

#include <span>
#include <vector>

#include "kernels/meta/device_profile.h"

namespace rm {

enum class Ways { up, down, both };

// How devices copy when they copy together.
struct CopyTerms {
    Bytes size;  // of each copy
    Seconds
        span;  // each direction of each device copies again and again for so long, at least once
};

// All devices copy between their memory and pinned memory of the host at once, each direction on a
// stream and a thread of its own. The rates of each device, 0 for a direction that is not asked
// for. A device that fails or has no memory for two copies throws StreamError or OutOfMemory.
std::vector<TransferRates> measure_copies(std::span<Device* const> devices, Ways ways,
                                          const CopyTerms& terms);

// The rates of `device` with both ways at once, and while the others do the same.
SharedTransfers measure_shared_transfers(Device& device, std::span<Device* const> others,
                                         const CopyTerms& terms);

}  // namespace rm
