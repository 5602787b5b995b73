#include <gtest/gtest.h>

#include <array>

#include "kernels/simt/emulator.h"
#include "kernels/simt/simt.h"

namespace rm::simt {
namespace {

class Warps : public ::testing::TestWithParam<std::uint64_t> {
protected:
    // Returns the result of f() in each of 32 lanes.
    template <typename F>
    auto in_every_lane(F f) const {
        std::array<decltype(f()), 32> results{};
        emulate({}, 32, 128, [&](void*) { results[static_cast<std::size_t>(lane())] = f(); },
                {GetParam()});
        return results;
    }
};

TEST_P(Warps, ShflTakesTheValueOfTheLaneThatEachNames) {
    const auto got = in_every_lane([] { return shfl(100 + lane(), 3 * lane()); });
    for (std::size_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], 100 + static_cast<int>(3 * i % 32));
}

TEST_P(Warps, ShflXorTakesTheValueOfThePartner) {
    const auto got = in_every_lane([] { return shfl_xor(0.5f * static_cast<float>(lane()), 5); });
    for (std::size_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], 0.5f * static_cast<float>(i ^ 5));
}

TEST_P(Warps, ShflUpKeepsTheFirstLanes) {
    const auto got = in_every_lane([] { return shfl_up(1e300 * lane(), 3); });
    for (std::size_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], 1e300 * static_cast<double>(i < 3 ? i : i - 3));
}

TEST_P(Warps, VotesCountEveryLane) {
    EXPECT_EQ(in_every_lane([] { return ballot(lane() % 3 == 0); })[7], 0x49249249u);
}

// Sums a chain of exchanges: no lane may read a result that another round has overwritten.
TEST_P(Warps, ResultsOfConsecutiveFunctionsDoNotMix) {
    const auto got = in_every_lane([] {
        int value = lane();
        for (int round = 0; round < 50; ++round)
            value = shfl(value, lane() + 1) + round;
        return value;
    });
    for (std::size_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], static_cast<int>((i + 50) % 32) + 50 * 49 / 2);
}

TEST_P(Warps, SyncWarpOrdersSharedMemory) {
    std::array<int, 32> got{};
    const auto body = [&](void* raw) {
        int* shared = static_cast<int*>(raw);
        for (int round = 0; round < 4; ++round) {
            shared[lane()] = lane() + round;
            sync_warp();
            got[static_cast<std::size_t>(lane())] = shared[31 - lane()];
            sync_warp();
        }
    };
    emulate({}, 32, 128, body, {GetParam()});
    for (std::size_t i = 0; i < 32; ++i)
        EXPECT_EQ(got[i], static_cast<int>(31 - i) + 3);
}

TEST_P(Warps, AtomicsCountEveryThread) {
    struct {
        float sum = 0;
        double precise = 0;
        int count = 0;
        int largest = -5;
    } total;
    const auto body = [&](void*) {
        atomic_add(&total.sum, 0.5f);
        atomic_add(&total.precise, 0.25);
        atomic_add(&total.count, 2);
        atomic_max(&total.largest, thread());
    };
    emulate({4}, 64, 0, body, {GetParam()});
    EXPECT_EQ(total.sum, 128);
    EXPECT_EQ(total.precise, 64);
    EXPECT_EQ(total.count, 512);
    EXPECT_EQ(total.largest, 63);
}

TEST(Numbers, Bf16PairsRoundToNearestEvenAndNaNIsCanonical) {
    const auto half = [](float x) { return round_bf16x2(-2, x) >> 16; };
    EXPECT_EQ(round_bf16x2(-2, 1), 0x3f80c000u);
    EXPECT_EQ(half(1.0f), 0x3f80u);
    EXPECT_EQ(half(1.00390625f), 0x3f80u);  // a tie, to even
    EXPECT_EQ(half(1.01171875f), 0x3f82u);  // a tie, to even
    EXPECT_EQ(half(-3.4e38f), 0xff80u);
    EXPECT_EQ(half(NAN), 0x7fffu);
}

INSTANTIATE_TEST_SUITE_P(Emulator, Warps, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace rm::simt
