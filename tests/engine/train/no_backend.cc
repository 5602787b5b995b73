#include "base/check.h"
#include "tests/engine/train/device_backend.h"

namespace rm::test {

bool has_device_backend() {
    return false;
}

KernelsFactory device_backend(std::uint64_t /*seed*/) {
    RM_CHECK(false, "this build has no device kernels");
}

}  // namespace rm::test
