#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/device.h"

namespace rm::test {

struct LazyOptions {
    std::uint64_t seed = 1;
    // Index of the wait to leave out, counted over all streams from 0 in program order.
    std::optional<std::int64_t> without_wait;
};

// A host device whose streams run nothing until a caller synchronizes; then one op at a time, on
// the caller's thread, in a seeded random order that keeps only what CUDA guarantees: order within
// a stream, and events. A missing wait is a wrong answer on some seed. Ranks are threads with a
// device each. The options are those last set by the calling thread.
void set_lazy_options(const LazyOptions& options);
std::unique_ptr<Device> make_lazy_device();
// From the device last destroyed, on any thread: the number of waits in its streams, and the
// surroundings of the one left out ("compute, after rmsnorm_fwd").
struct LazyWaits {
    std::int64_t count = 0;
    std::string left_out;
};
LazyWaits last_lazy_waits();

}  // namespace rm::test
