#pragma once

#include <iostream>
#include <memory>

#include "kernels/cuda/launch.h"
#include "kernels/kernels.h"

namespace rm {

struct EmuOptions {
    std::uint64_t seed = 0;  // of the schedules; 0: lock step
    GpuProfile profile{};
    bool reproducible = true;
    std::ostream* explain = explains("kernels") ? &std::cerr : nullptr;
};

// The kernels of `cuda`, run by the SIMT emulator on `device`, whose memory the host can reach.
// Tests only.
std::unique_ptr<Kernels> make_emu_kernels(const EmuOptions& options = {},
                                          std::unique_ptr<Device> device = make_host_device());

}  // namespace rm
