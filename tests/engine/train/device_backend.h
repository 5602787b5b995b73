#pragma once

#include <cstdint>

#include "tests/support/rank_rig.h"

namespace rm::test {

// The backend of the device kernels that device_engine_test.cc is built for: `emu` on memory closed
// to the host, or `cuda`.
bool has_device_backend();
// `seed` chooses among orders that are allowed: the schedules of the emulator.
KernelsFactory device_backend(std::uint64_t seed = 0);

}  // namespace rm::test
