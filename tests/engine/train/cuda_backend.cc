#include "kernels/cuda/library/load.h"
#include "tests/engine/train/device_backend.h"

namespace rm::test {

bool has_device_backend() {
    return check_cuda_device(0).ok();
}

// Ranks are threads and share the first GPU.
KernelsFactory device_backend(std::uint64_t /*seed*/) {
    return [] { return load_cuda_kernels({}).value(); };
}

}  // namespace rm::test
