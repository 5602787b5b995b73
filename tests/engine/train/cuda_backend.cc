#include "kernels/device_library.h"
#include "tests/engine/train/device_backend.h"

namespace rm::test {

bool has_device_backend() {
    return check_device(DeviceLibrary::cuda, 0).ok();
}

// Ranks are threads and share the first GPU.
KernelsFactory device_backend(std::uint64_t /*seed*/) {
    return [] { return load_device_kernels(DeviceLibrary::cuda, {}).value(); };
}

}  // namespace rm::test
