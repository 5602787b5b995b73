#include "kernels/closed_device.h"
#include "kernels/emu/emu_kernels.h"
#include "tests/engine/train/device_backend.h"

namespace rm::test {

bool has_device_backend() {
    return true;
}

KernelsFactory device_backend(std::uint64_t seed) {
    return [seed] { return make_emu_kernels({.seed = seed}, make_closed_device()); };
}

}  // namespace rm::test
