#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/simt/sanitizers.h"
#include "tests/kernels/simt/pipelined_product.h"
#include "tests/kernels/simt/seeds.h"

// Tests the tests: each fault planted in a kernel must be caught by the tool meant for it.
namespace rm::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <Fault kFault>
int num_wrong_seeds() {
    const ProductProblem problem;
    int num_wrong = 0;
    for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed)
        num_wrong += problem.on_emulator<kFault>(seed) != problem.on_host();
    return num_wrong;
}

TEST(PlantedFaults, TheKernelWithoutAFaultIsRightOnEverySeed) {
    EXPECT_EQ(num_wrong_seeds<Fault::none>(), 0);
}

TEST(PlantedFaults, AMissingWaitIsWrongOnEverySeed) {
    EXPECT_EQ(num_wrong_seeds<Fault::missing_wait>(), kNumSeeds);
}

TEST(PlantedFaults, AMissingBarrierIsWrongOnEverySeed) {
    EXPECT_EQ(num_wrong_seeds<Fault::missing_barrier>(), kNumSeeds);
}

// In lock step no warp overtakes another, so only the other seeds show the fault.
TEST(PlantedFaults, AMissingRefillBarrierIsWrongOnGreedySeeds) {
    EXPECT_GE(num_wrong_seeds<Fault::missing_refill_barrier>(), kNumSeeds / 2);
}

TEST(PlantedFaults, ADivergentBarrierIsDiagnosed) {
    const ProductProblem problem;
    for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
        EXPECT_THAT([&] { problem.on_emulator<Fault::divergent_barrier>(seed); },
                    ThrowsMessage<simt::EmulatorError>(AllOf(
                        HasSubstr("in sync_block at pipelined_product.h:"), HasSubstr("(run)"))));
    }
}

TEST(PlantedFaults, AWrongSwizzleIsWrongOnEverySeed) {
    EXPECT_EQ(num_wrong_seeds<Fault::wrong_swizzle>(), kNumSeeds);
}

#ifdef RM_ASAN
TEST(PlantedFaultsDeathTest, ARowTooManyIsSeenByTheAddressSanitizer) {
    const ProductProblem problem;
    EXPECT_DEATH(problem.on_emulator<Fault::off_by_one_row>(0), "heap-buffer-overflow");
}

TEST(PlantedFaultsDeathTest, AnElementBeyondSharedMemoryIsSeenByTheAddressSanitizer) {
    const auto body = [](void* shared) {
        static_cast<float*>(shared)[simt::thread() + 1] = 0;
        simt::sync_block();
    };
    EXPECT_DEATH(simt::emulate({}, 32, 32 * sizeof(float), body, {}), "heap-buffer-overflow");
}

TEST(PlantedFaultsDeathTest, AnElementBeyondAThreadsArrayIsSeenByTheAddressSanitizer) {
    const auto body = [](void*) {
        int mine[4] = {};
        volatile int* last = mine + 3;
        last[simt::warp() + 1] = 1;
    };
    EXPECT_DEATH(simt::emulate({}, 32, 0, body, {}), "stack-buffer-overflow|insufficient space");
}
#endif

}  // namespace
}  // namespace rm::device
