#include <gtest/gtest.h>

#include <chrono>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/meta/measure_profile.h"

namespace rm {
namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

TEST(MeasureProfile, GivesEveryOpOfARealMachineASpeed) {
    const auto cpu = make_cpu_kernels({});
    const DeviceProfile profile =
        measure_profile(*cpu, {.budget = {}, .now = seconds_now, .transfer_now = seconds_now});
    EXPECT_TRUE(check_profile(profile).ok()) << check_profile(profile).error().message;
    EXPECT_EQ(profile.compute, DType::f32);
    EXPECT_GE(profile.prepared_copies, 2);
    for (const OpSpeed& speed : profile.ops)
        EXPECT_LT(speed.overhead, Seconds{0.1}) << speed.op;
}

}  // namespace
}  // namespace rm
