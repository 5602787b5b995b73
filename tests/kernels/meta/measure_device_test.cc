#include <gtest/gtest.h>

#include <chrono>

#include "kernels/closed_device.h"
#include "kernels/emu/emu_kernels.h"
#include "kernels/meta/measure_profile.h"
#include "kernels/meta/profile_shapes.h"
#include "kernels/meta/transfer_rates.h"
#include "tests/support/forwarding_device.h"

namespace rm {
namespace {

constexpr Bytes kMemory{std::int64_t{64} << 20};

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

MeasureOptions once(std::vector<Device*> busy = {}) {
    return {.budget = {}, .now = seconds_now, .transfer_now = seconds_now, .busy = std::move(busy)};
}

TEST(MeasureProfile, OfADeviceHasItsMemoryAndTheRatesOfCopiesAtOnce) {
    const auto emu = make_emu_kernels({}, make_closed_device(kMemory));
    const auto other = make_closed_device(kMemory);
    const DeviceProfile profile = measure_profile(*emu, once({other.get()}));
    EXPECT_TRUE(check_profile(profile).ok()) << check_profile(profile).error().message;
    EXPECT_EQ(profile.name, "emulated GPU");
    EXPECT_EQ(profile.compute, DType::bf16);
    EXPECT_EQ(profile.memory, kMemory);
    EXPECT_LT(profile.held, Bytes{1 << 16}) << "no driver, no libraries";
    EXPECT_GT(profile.transfers.both_ways.upload, 0);
    EXPECT_GT(profile.transfers.both_ways.download, 0);
    EXPECT_EQ(profile.transfers.busy_devices, 1);
    EXPECT_GT(profile.transfers.busy.upload, 0);
    EXPECT_GT(profile.transfers.busy.download, 0);
    EXPECT_GT(profile.transfers.busy_both_ways.upload, 0);
    EXPECT_GT(speed_of(profile, "linear_cross_entropy").workspace, Bytes{});
}

// Holds 100 MiB that no tensor has.
class HoldingDevice final : public test::ForwardingDevice {
public:
    DeviceFacts facts() const override {
        const Bytes used{(std::int64_t{100} << 20) + allocated().value};
        return {.product = "a GPU",
                .driver = "",
                .memory = {std::int64_t{1} << 30},
                .free = {(std::int64_t{1} << 30) - used.value}};
    }
};

TEST(MeasureProfile, CountsAsHeldWhatIsNeitherFreeNorAllocated) {
    const auto emu = make_emu_kernels({}, std::make_unique<HoldingDevice>());
    EXPECT_EQ(measure_profile(*emu, once()).held, Bytes{std::int64_t{100} << 20});
}

TEST(ProfileShapes, FollowTheSpeedOfTheMachine) {
    const ProfileShapes emulated = shapes_for(1e9, {0.25}), cpu = shapes_for(3e11, {0.25}),
                        gpu = shapes_for(2e14, {0.25});
    EXPECT_EQ(emulated.products.back().T, 16);
    EXPECT_EQ(cpu.products.back().N, 3072);
    EXPECT_EQ(cpu.head_dims.front(), 16) << "the least of a preset";
    EXPECT_EQ(gpu.products.back().T, 8192);
    EXPECT_EQ(gpu.products.back().N, 14336);
    EXPECT_EQ(gpu.attention.back().S, 65536);
    const ProfileShapes slow = shapes_for(5e12, {0.01});
    EXPECT_LT(slow.products.back().T, 8192) << "it would take 0.2 s";
    EXPECT_EQ(shapes_for(2e14, {}).products.size(), 1U) << "the least is always there";
}

TEST(ProfileSampler, LeavesOutAShapeForWhichThereIsNoMemory) {
    const auto emu = make_emu_kernels({}, make_closed_device({16 << 20}));
    ProfileSampler sampler(*emu, seconds_now);
    sampler.add_if_room([&] { sampler.update(1 << 10); });
    const std::size_t with_the_first = sampler.samples().size();
    const Bytes used = emu->device().allocated();
    sampler.add_if_room([&] { sampler.update(1 << 24); });
    EXPECT_EQ(sampler.samples().size(), with_the_first);
    EXPECT_EQ(emu->device().allocated(), used);
    sampler.add_if_room([&] { sampler.update(1 << 11); });
    EXPECT_EQ(sampler.samples().size(), 2 * with_the_first);
    EXPECT_THROW(ProfileSampler(*emu, seconds_now).add_if_room([] { throw OutOfMemory("none"); }),
                 OutOfMemory)
        << "the least shape must have room";
}

class FailingDevice final : public test::ForwardingDevice {
public:
    void download(const TensorView&, void*, Stream& stream) override {
        stream.enqueue("download", [] { throw std::runtime_error("the link is down"); });
    }
};

TEST(TransferRates, OfADeviceThatFailsAreAnError) {
    const auto good = make_closed_device(kMemory);
    FailingDevice bad;
    Device* const devices[] = {good.get(), &bad};
    const CopyTerms terms{.size = {1 << 10}, .span = {}};
    EXPECT_THROW(measure_copies(devices, Ways::both, terms), StreamError);
    const auto up = measure_copies(devices, Ways::up, terms);
    ASSERT_EQ(up.size(), 2U);
    EXPECT_GT(up[1].upload, 0);
    EXPECT_EQ(up[1].download, 0);
}

}  // namespace
}  // namespace rm
