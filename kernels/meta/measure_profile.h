#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/meta/device_profile.h"

namespace rm {

struct MeasureOptions {
    Seconds budget{25};           // of wall time
    int most_rounds = 1 << 20;    // of each list of shapes, if the budget has time for them
    std::function<double()> now;  // seconds; what ops are timed by
    std::function<double()> transfer_now;  // and transfers: on a host device a copy has one thread
    std::vector<Device*> busy;  // other devices, which copy while this one's busy rates are taken
};

// The profile of the machine behind `kernels`, measured through them at shapes for its speed
// (profile_shapes.h): every shape in turn, again and again until the budget is spent (at least
// once), and of each the median. The peak is that of the fastest product. Memory, and what the
// driver and libraries hold of it, are those of a device with memory of its own, on which nothing
// else may run meanwhile. `provenance` is the caller's to say. Throws StreamError, OutOfMemory.
DeviceProfile measure_profile(Kernels& kernels, const MeasureOptions& options);

struct CheckedSample {
    std::string op;
    std::string shape;
    Seconds measured;
    Seconds predicted;
    double error() const { return predicted.value / measured.value - 1; }
};
// Shapes that measure_profile does not measure, measured in the same way and beside what the
// profile says of them.
std::vector<CheckedSample> measure_check(Kernels& kernels, const DeviceProfile& profile,
                                         const MeasureOptions& options);

}  // namespace rm
