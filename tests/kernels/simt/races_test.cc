#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/kernels/simt/pipelined_product.h"
#include "tests/kernels/simt/seeds.h"

// clang's thread sanitizer sees each CUDA thread as a thread and only barriers as ordering memory.
// It reports a missing barrier on any schedule, even in lock step and even if the result is right.
// A report fails this program; planted races run in a child process.

namespace rm::device {
namespace {

TEST(Races, TheKernelWithoutAFaultHasNone) {
    const ProductProblem problem;
    for (std::uint64_t seed = 0; seed < 8; ++seed)
        EXPECT_EQ(problem.on_emulator<Fault::none>(seed), problem.on_host()) << "seed " << seed;
}

// One warp: each lane writes, then reads the value that its neighbour wrote.
void exchange_through_memory(bool barrier) {
    const auto body = [=](void* raw) {
        volatile int* shared = static_cast<int*>(raw);
        shared[simt::lane()] = simt::lane();
        if (barrier) simt::sync_warp();
        simt::shfl(shared[simt::lane() ^ 1], 0);
    };
    simt::emulate({}, 32, 128, body, {});
}

// Two blocks of two warps; all threads of a block write one element per block, or only one does.
void write_results(bool one_element_for_all_blocks) {
    std::vector<int> result(2);
    const auto body = [&](void*) {
        simt::sync_block();
        const int i = one_element_for_all_blocks ? 0 : simt::block_x();
        if (simt::thread() == 0) result[static_cast<std::size_t>(i)] = 1;
    };
    simt::emulate({2}, 64, 0, body, {});
}

TEST(Races, SyncWarpOrdersTheMemoryOfAWarp) {
    exchange_through_memory(true);
}

TEST(Races, BlocksThatWriteDifferentElementsHaveNone) {
    write_results(false);
}

TEST(Races, AtomicsAndConsecutiveKernelsHaveNone) {
    int sum = 0;
    const auto body = [&](void*) { simt::atomic_add(&sum, 1); };
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        simt::emulate({2}, 64, 0, body, {seed});
        ++sum;
    }
    EXPECT_EQ(sum, 8 * 129);
}

#ifdef RM_RACES_ARE_REPORTED
// Runs a statement that races; the sanitizer's exit code is 66.
#define EXPECT_RACE(statement) \
    EXPECT_EXIT(               \
        {                      \
            statement;         \
            std::exit(0);      \
        },                     \
        ::testing::ExitedWithCode(66), "ThreadSanitizer: data race")

template <Fault kFault>
void expect_race_on_every_schedule() {
    const ProductProblem problem;
    for (const std::uint64_t seed : {0, 1, 2})
        EXPECT_RACE(problem.on_emulator<kFault>(seed));
}

TEST(RacesDeathTest, AMissingBarrierIsReported) {
    expect_race_on_every_schedule<Fault::missing_barrier>();
}

TEST(RacesDeathTest, AMissingRefillBarrierIsReported) {
    expect_race_on_every_schedule<Fault::missing_refill_barrier>();
}

TEST(RacesDeathTest, AMissingSyncWarpIsReported) {
    EXPECT_RACE(exchange_through_memory(false));
}

TEST(RacesDeathTest, TwoBlocksThatWriteOneElementAreReported) {
    EXPECT_RACE(write_results(true));
}
#endif

}  // namespace
}  // namespace rm::device
