// The peak of a measured profile was the speed of a product without its overhead: on an H100, where
// short products run while the next ones are launched, 2,557 TFLOP/s of the 989 that it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/measure_profile.h"

namespace rm {
namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

TEST(Regress0139, ThePeakIsTheRateOfAWholeProduct) {
    const auto cpu = make_cpu_kernels({});
    const DeviceProfile profile =
        measure_profile(*cpu, {.budget = {}, .now = seconds_now, .transfer_now = seconds_now});
    const OpSpeed& products = speed_of(profile, "linear_fwd");
    double best = 0;
    for (const auto& [size, per_sec] : products.points) {
        const Seconds whole = seconds_of(profile, "linear_fwd", {.amount = size, .size = size});
        best = std::max(best, size / whole.value);
    }
    EXPECT_NEAR(profile.peak_flops / best, 1, 1e-9);
}

}  // namespace
}  // namespace rm
