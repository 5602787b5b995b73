#include "worker/rank/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/gpu_file.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kUuid = "GPU-00000001-0000-4000-8000-000000000000";

class CheckFree : public testing::Test {
protected:
    CheckFree() { test::use_nvml(RM_STANDIN_NVML_LIBRARY, file_); }
    Json& gpu() { return machine_["gpus"][1]; }
    void show() { test::show_machine(file_, machine_); }
    // Empty: the GPU may be used.
    std::string refusal(const std::function<void()>& pause = [] {}) {
        show();
        const auto gpus = open_gpus();
        RM_CHECK(gpus.ok(), "{}", gpus.error().message);
        try {
            check_free(**gpus, kUuid, {.pause = pause});
            return "";
        } catch (const DeviceFault& fault) {
            return fault.what();
        }
    }

    TempDir dir_;
    const std::string file_ = dir_.file("nvml.json");
    Json machine_ = test::machine_of(2);
};

TEST_F(CheckFree, AnIdleGpuMayBeUsed) {
    machine_["gpus"][0]["processes"] = {{{"pid", 99999999}}};
    EXPECT_EQ(refusal(), "") << "a process on another GPU does not matter";
}

TEST_F(CheckFree, AProcessOfAnotherProgramIsNamedWithItsMemory) {
    gpu()["processes"] = {{{"pid", 99999999}, {"memory_mib", 12595}}};
    int pauses = 0;
    EXPECT_EQ(refusal([&] { ++pauses; }), "device busy: 12.3 GiB by pid 99999999");
    EXPECT_EQ(pauses, 3) << "it is believed at the last look";
}

TEST_F(CheckFree, AProcessThatIsJustEndingIsWaitedFor) {
    gpu()["processes"] = {{{"pid", 99999999}, {"memory_mib", 12595}}};
    EXPECT_EQ(refusal([&] {
                  gpu()["processes"] = Json::array();
                  show();
              }),
              "");
}

TEST_F(CheckFree, MemoryOfProcessesInOtherContainersIsSeen) {
    gpu()["used_mib"] = 9216;
    EXPECT_EQ(refusal(), "device busy: 9.0 GiB by processes that cannot be seen from here");
    gpu()["used_mib"] = 600;  // the driver's own
    EXPECT_EQ(refusal(), "");
}

TEST_F(CheckFree, AGpuThatHasLeftTheBusIsNamed) {
    gpu()["lost"] = true;
    EXPECT_THAT(refusal(), HasSubstr("device lost: "));
}

// A profile whose products of up to 64 rows take `seconds`, and larger ones for ever.
DeviceProfile profile_of(double seconds) {
    DeviceProfile profile = published_profiles().front();
    for (OpSpeed& speed : profile.ops) {
        if (speed.op != "linear_fwd") continue;
        const double flops = 2.0 * 64 * 64 * 64;
        speed.overhead = {};
        speed.points = {{flops, flops / seconds}, {2 * flops, 1}};
    }
    return profile;
}

class CheckSpeed : public testing::Test {
protected:
    std::string note(double usual_seconds) {
        return check_speed(*kernels_, profile_of(usual_seconds), [] {
            return std::chrono::duration<double>(
                       std::chrono::steady_clock::now().time_since_epoch())
                .count();
        });
    }
    const std::unique_ptr<Kernels> kernels_ = make_cpu_kernels({.num_threads = 1});
};

TEST_F(CheckSpeed, ADeviceAsFastAsItsKindIsTaken) {
    EXPECT_THAT(note(10), HasSubstr("as fast as its kind: a product of 64 x 64 x 64 takes "));
}

TEST_F(CheckSpeed, ASlowDeviceIsRefusedWithBothTimes) {
    try {
        note(1e-9);
        FAIL() << "no device does that";
    } catch (const DeviceFault& fault) {
        EXPECT_THAT(fault.what(), HasSubstr("device slow: a product of 64 x 64 x 64 takes "));
        EXPECT_THAT(fault.what(), HasSubstr("on a device of its kind"));
    }
}

}  // namespace
}  // namespace rm
