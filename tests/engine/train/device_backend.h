#pragma once

#include <cstdint>

#include "tests/support/rank_rig.h"

namespace rm::test {

// True if this build of device_engine_test.cc has a device backend: `emu` on memory closed to the
// host, or `cuda`.
bool has_device_backend();
// `seed` chooses among allowed orders: the emulator's schedules.
KernelsFactory device_backend(std::uint64_t seed = 0);

}  // namespace rm::test
