#include "worker/inventory/gpu_watch.h"

#include <gtest/gtest.h>

#include <condition_variable>

#include "tests/support/gpu_file.h"
#include "tests/support/temp_dir.h"
#include "worker/inventory/gpu_devices.h"
#include "worker/inventory/gpu_use.h"

namespace rm {
namespace {

using Json = nlohmann::json;

constexpr Seconds kLook{0.01};

class GpuWatchTest : public testing::Test {
protected:
    GpuWatchTest() {
        test::use_nvml(RM_STANDIN_NVML_LIBRARY, file_);
        show();
    }
    void show() { test::show_machine(file_, machine_); }
    Json& gpu(int index) { return machine_["gpus"][usize(index)]; }

    std::unique_ptr<GpuWatch> watch(const std::vector<int>& offered) {
        auto gpus = open_gpus();
        RM_CHECK(gpus.ok(), "{}", gpus.error().message);
        return std::make_unique<GpuWatch>(std::move(*gpus), offered);
    }
    void start(GpuWatch& watch) {
        watch.start([this](const auto& readings) { take(readings); }, kLook);
    }
    void take(const std::vector<GpuReading>& readings) {
        const std::lock_guard lock(mutex_);
        looks_.push_back(readings);
        changed_.notify_all();
    }
    // The first reading of the first offered GPU that satisfies `condition`.
    template <typename Condition>
    GpuReading wait_for(const Condition& condition) {
        std::unique_lock lock(mutex_);
        const bool came = changed_.wait_for(lock, std::chrono::seconds(30), [&] {
            return !looks_.empty() && condition(looks_.back().front());
        });
        EXPECT_TRUE(came);
        return looks_.back().front();
    }

    TempDir dir_;
    const std::string file_ = dir_.file("nvml.json");
    Json machine_ = test::machine_of(3);
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<GpuReading>> looks_;
};

TEST_F(GpuWatchTest, LooksAtTheOfferedGpusAlone) {
    const auto readings = watch({0, 2})->readings();
    ASSERT_EQ(readings.size(), 2u);
    EXPECT_EQ(readings[1].index, 2);
    EXPECT_EQ(readings[1].facts.uuid, "GPU-00000002-0000-4000-8000-000000000000");
    EXPECT_EQ(readings[1].unfit, "");
}

TEST_F(GpuWatchTest, AnXidOfTheHardwareStaysAndOneOfAProgramDoesNot) {
    const auto watched = watch({1});
    start(*watched);
    gpu(1)["xids"] = {31};
    show();
    EXPECT_EQ(wait_for([](const GpuReading& r) { return r.new_xids == std::vector{31}; }).unfit,
              "");
    gpu(1)["xids"] = {31, 79};
    show();
    wait_for([](const GpuReading& r) { return r.new_xids == std::vector{79}; });
    const GpuReading later = wait_for([](const GpuReading& r) { return r.new_xids.empty(); });
    EXPECT_EQ(later.unfit, "Xid 79: it has fallen off the bus; reset it or restart the machine");
    watched->stop();
}

TEST_F(GpuWatchTest, AForeignProcessIsNamedAtTheStartAndForgivenWhenItEnds) {
    gpu(0)["processes"] = {{{"pid", 99999999}, {"memory_mib", 12595}}};
    show();
    const auto watched = watch({0});
    EXPECT_EQ(watched->readings()[0].unfit, "busy: 12.3 GiB by pid 99999999");
    start(*watched);
    gpu(0)["processes"] = Json::array();
    show();
    wait_for([](const GpuReading& r) { return r.unfit.empty(); });
    watched->stop();
}

TEST_F(GpuWatchTest, ProcessesOfOwnRanksAreNotForeign) {
    const auto watched = watch({0});
    watched->set_held({0});
    start(*watched);
    gpu(0)["processes"] = {{{"pid", 99999999}, {"memory_mib", 100}}};
    show();
    EXPECT_EQ(wait_for([](const GpuReading& r) { return !r.state.processes.empty(); }).unfit, "");
    watched->set_held({});
    EXPECT_EQ(wait_for([](const GpuReading& r) { return !r.unfit.empty(); }).unfit,
              "busy: 100.0 MiB by pid 99999999");
    watched->stop();
    // The first look after the rank's end does not believe it yet.
    std::size_t unbelieved = 0;
    for (const auto& look : looks_)
        unbelieved += !look[0].state.processes.empty() && look[0].unfit.empty() ? 1 : 0;
    EXPECT_GE(unbelieved, 2u);
}

GpuReading reading_at(double joules, double watts = 300) {
    GpuReading reading{.index = 1};
    reading.state = {.temperature_celsius = 70, .watts = watts, .joules = joules};
    return reading;
}

TEST(GpuUses, CountARanksEnergyFromItsFirstLookToItsEnd) {
    GpuUses uses;
    AttemptStatus attempt{.epoch = {7}, .ranks = {{.rank = 3, .device = 1, .running = true}}};
    const auto look = [&](const GpuReading& reading) {
        attempt.ranks[0].gpu = {};
        uses.add_to({&attempt}, {reading});
        return attempt.ranks[0].gpu;
    };
    EXPECT_EQ(look(reading_at(1000)),
              (GpuUse{.temperature_celsius = 70, .watts = 300, .joules = 0}));
    GpuReading throttled = reading_at(2500);
    throttled.state.throttled = {"power_cap", "hw_thermal"};
    EXPECT_EQ(look(throttled).joules, 1500);
    EXPECT_EQ(look(throttled).throttled, "power_cap, hw_thermal");
    attempt.ranks[0].exited = true;
    EXPECT_EQ(look(reading_at(9000)), (GpuUse{.joules = 1500})) << "others use it now";
    AttemptStatus next{.epoch = {8}, .ranks = {{.rank = 0, .device = 1, .running = true}}};
    uses.add_to({&next}, {reading_at(9000)});
    EXPECT_EQ(next.ranks[0].gpu.joules, 0);
}

TEST(GpuUses, ALostGpuOrACpuSlotSaysNothing) {
    GpuUses uses;
    AttemptStatus attempt{.epoch = {7}, .ranks = {{.rank = 0, .device = 1, .running = true}}};
    uses.add_to({&attempt}, {});
    EXPECT_EQ(attempt.ranks[0].gpu, GpuUse());
    GpuReading lost = reading_at(0);
    lost.state.lost = true;
    uses.add_to({&attempt}, {lost});
    EXPECT_EQ(attempt.ranks[0].gpu, GpuUse());
}

TEST(GpuDevices, AreThoseOfTheOfferWithTheirPeak) {
    std::vector<Gpu> gpus(3);
    for (int i = 0; i < 3; ++i)
        gpus[usize(i)] = {i, {.uuid = format("GPU-{}", i), .product = "NVIDIA L40S"}, Bytes{1000}};
    const auto devices = gpu_devices(gpus, {0, 2});
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[1].index, 2);
    EXPECT_EQ(devices[1].kind, "L40S");
    EXPECT_EQ(devices[1].memory, Bytes{1000});
    EXPECT_EQ(devices[1].gpu.uuid, "GPU-2");
    EXPECT_EQ(devices[1].peak(Precision::bf16), (Peak{362e12, "bf16 362 TFLOP/s L40S data sheet"}));
    EXPECT_EQ(published_peak("Tesla-T4"), Peak{}) << "MFU is not reported then";
}

TEST(SettleOffer, WithoutADriverTheDefaultIsACpuSlotAndGpusAreRefused) {
    const Result<std::unique_ptr<Gpus>> none =
        make_error(ErrorCode::unavailable, "no NVIDIA driver (x cannot be opened)");
    const auto settled = settle_offer(std::nullopt, none);
    ASSERT_TRUE(settled);
    EXPECT_FALSE(settled->offer.library);
    EXPECT_EQ(settled->offer.count, 1);
    EXPECT_EQ(settled->why_not, "");
    const auto refused =
        settle_offer(DeviceOffer{.library = DeviceLibrary::cuda, .count = 0}, none);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "--devices: GPUs cannot be offered: no NVIDIA driver (x cannot be opened). cpu:N "
              "offers CPU slots");
}

TEST_F(GpuWatchTest, ANumberThatTheMachineDoesNotHaveIsRefused) {
    const auto refused = settle_offer(
        DeviceOffer{.library = DeviceLibrary::cuda, .count = 1, .gpus = {3}}, open_gpus());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "--devices: GPUs cannot be offered: there is no GPU 3; this machine has 3 GPUs, from "
              "0. cpu:N offers CPU slots");
}

TEST_F(GpuWatchTest, WithoutTheLibraryOfKernelsTheDefaultIsACpuSlotAndSaysWhy) {
    const auto settled = settle_offer(std::nullopt, open_gpus());
    ASSERT_TRUE(settled);
    EXPECT_FALSE(settled->offer.library);
    EXPECT_NE(settled->why_not.find("librm_cuda.so"), std::string::npos) << settled->why_not;
}

}  // namespace
}  // namespace rm
