#pragma once

#include <cstdint>

#include "base/units.h"

namespace rm {

constexpr int kFirstFp8Arch = 89;  // Ada

// The properties of a GPU by which launchers choose a kernel. The default is the L40S.
struct GpuProfile {
    int arch = 89;  // compute capability x 10
    int num_sms = 142;
    Bytes shared_per_block{99 * 1024};
    Bytes l2{std::int64_t{96} << 20};
};

}  // namespace rm
