#include "kernels/simt/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/simt/fiber.h"
#include "kernels/simt/simt.h"

namespace rm::simt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kThreads = 64;

class Schedules : public ::testing::TestWithParam<std::uint64_t> {
protected:
    Emulation emulation() const { return {GetParam()}; }
    // Returns a call that runs a block of kThreads threads, each with `body`.
    template <typename Body>
    auto running(Body body) const {
        return [=, emulation = emulation()] {
            emulate(
                {}, kThreads, 256, [&](void* shared) { body(static_cast<int*>(shared)); },
                emulation);
        };
    }
};

TEST_P(Schedules, BarriersOrderSharedMemory) {
    std::vector<int> got(kThreads);
    const auto body = [&](void* raw) {
        int* shared = static_cast<int*>(raw);
        shared[thread()] = thread();
        sync_block();
        got[static_cast<std::size_t>(thread())] = shared[kThreads - 1 - thread()];
    };
    emulate({}, kThreads, kThreads * sizeof(int), body, emulation());
    for (int i = 0; i < kThreads; ++i)
        EXPECT_EQ(got[static_cast<std::size_t>(i)], kThreads - 1 - i);
}

TEST_P(Schedules, EveryBlockOfTheGridRunsOnce) {
    std::vector<int> seen(2 * 3 * 4);
    const auto body = [&](void*) {
        if (thread() == 0)
            ++seen[static_cast<std::size_t>((block_z() * 3 + block_y()) * grid_x() + block_x())];
    };
    emulate({2, 3, 4}, 32, 0, body, emulation());
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST_P(Schedules, SharedMemoryStartsAsNaNInEveryBlock) {
    std::set<int> seen;
    const auto body = [&](void* raw) {
        int* shared = static_cast<int*>(raw);
        if (thread() == 0) seen.insert(shared[3]);
        sync_block();
        shared[3] = 7;
    };
    emulate({3}, kThreads, 16, body, emulation());
    EXPECT_EQ(seen, std::set<int>{-1});
}

TEST_P(Schedules, ABarrierThatSomeThreadsSkipIsDiagnosed) {
    EXPECT_THAT(running([](int*) {
                    if (warp() == 0) sync_block();
                }),
                ThrowsMessage<EmulatorError>(
                    AllOf(HasSubstr("block (0, 0, 0) cannot go on"),
                          HasSubstr("32 threads wait in sync_block at emulator_test.cc:"),
                          HasSubstr("32 threads have exited"))));
}

// Not inside EXPECT_THAT: the compiler gives its whole argument one line number.
void sync_in_two_places(int*) {
    if (warp() == 0)
        sync_block();
    else
        sync_block();
}

TEST_P(Schedules, TwoDifferentBarriersAreDiagnosed) {
    EXPECT_THAT(running(sync_in_two_places), ThrowsMessage<EmulatorError>(AllOf(
                                                 HasSubstr("is in sync_block at emulator_test.cc:"),
                                                 HasSubstr("32 others at emulator_test.cc:"))));
}

TEST_P(Schedules, AWarpFunctionThatSomeLanesSkipIsDiagnosed) {
    EXPECT_THAT(running([](int*) {
                    if (lane() != 5) ballot(true);
                }),
                ThrowsMessage<EmulatorError>(
                    AllOf(HasSubstr("62 threads wait in ballot at emulator_test.cc:"),
                          HasSubstr("2 threads have exited"))));
}

void shuffle_in_two_places(int*) {
    if (lane() < 16)
        shfl_xor(1, 1);
    else
        shfl_xor(1, 1);
}

TEST_P(Schedules, AWarpThatIsInTwoPlacesIsDiagnosed) {
    EXPECT_THAT(running(shuffle_in_two_places),
                ThrowsMessage<EmulatorError>(AllOf(HasSubstr("is in shfl_xor at emulator_test.cc:"),
                                                   HasSubstr("others of its warp in shfl_xor"))));
}

TEST_P(Schedules, TwoWarpFunctionsOnOneLineAreDiagnosed) {
    EXPECT_THAT(running([](int*) { lane() < 16 ? shfl_xor(1, 1) : shfl(1, 1); }),
                ThrowsMessage<EmulatorError>(HasSubstr("others of its warp in shfl")));
}

// clang-format off
int in_one() { return shfl(1, 1); } int in_two() { return shfl(1, 1); }
// clang-format on

TEST_P(Schedules, OneLineInTwoFunctionsIsDiagnosed) {
    EXPECT_THAT(running([](int*) { lane() < 16 ? in_one() : in_two(); }),
                ThrowsMessage<EmulatorError>(AllOf(HasSubstr("(in_one)"), HasSubstr("(in_two)"))));
}

TEST_P(Schedules, ABarrierAndAWarpFunctionWaitForEachOtherInVain) {
    EXPECT_THAT(running([](int*) {
                    if (lane() == 0) sync_block();
                    sync_warp();
                    if (lane() != 0) sync_block();
                }),
                ThrowsMessage<EmulatorError>(AllOf(HasSubstr("2 threads wait in sync_block"),
                                                   HasSubstr("62 threads wait in sync_warp"))));
}

TEST_P(Schedules, AnExceptionUnwindsEveryThreadAndTheNextKernelRuns) {
    const auto alive = std::make_shared<int>(0);
    const auto body = [&](void*) {
        const auto mine = alive;
        sync_block();
        if (thread() == 40) throw std::runtime_error("of thread 40");
        sync_block();
    };
    EXPECT_THAT([&] { emulate({}, kThreads, 0, body, emulation()); },
                ThrowsMessage<std::runtime_error>(HasSubstr("of thread 40")));
    EXPECT_EQ(alive.use_count(), 1);
    int num_threads = 0;
    emulate(
        {}, kThreads, 0, [&](void*) { ++num_threads; }, emulation());
    EXPECT_EQ(num_threads, kThreads);
}

TEST_P(Schedules, AKernelInsideAKernelIsRefused) {
    const auto inner = running([](int*) {});
    EXPECT_THAT(running([=](int*) { inner(); }),
                ThrowsMessage<EmulatorError>(HasSubstr("a kernel started another kernel")));
}

INSTANTIATE_TEST_SUITE_P(Emulator, Schedules, ::testing::Values(0, 1, 2, 3));

// Returns the order in which the threads of a block pass a point.
std::vector<int> order_of_threads(std::uint64_t seed) {
    std::vector<int> order;
    const auto body = [&](void*) {
        for (int i = 0; i < 8; ++i) {
            order.push_back(thread());
            sync_warp();
        }
    };
    emulate({}, kThreads, 0, body, {seed});
    return order;
}

TEST(Emulator, ASeedGivesOneSchedule) {
    EXPECT_EQ(order_of_threads(5), order_of_threads(5));
    EXPECT_NE(order_of_threads(5), order_of_threads(6));
}

TEST(Emulator, TheLockStepGoesInOrder) {
    const std::vector<int> order = order_of_threads(0);
    for (std::size_t i = 0; i < 32; ++i)
        EXPECT_EQ(order[i], static_cast<int>(i));
}

TEST(Emulator, AGreedyWarpLapsTheOther) {
    const std::vector<int> order = order_of_threads(5);
    for (std::size_t i = 0; i < 8 * 32; ++i)
        EXPECT_EQ(order[i] / 32, order[0] / 32) << "thread " << i;
}

TEST(Emulator, CountsBarriersOfBlocksAndProductsOfWarps) {
    const auto body = [](void*) {
        float d[4] = {};
        const std::uint32_t a[4] = {}, b[2] = {};
        mma_bf16(d, a, b);
        sync_block();
    };
    const EmulatorCounts counts = emulate({3}, kThreads, 0, body, {});
    EXPECT_EQ(counts.barriers, 3);
    EXPECT_EQ(counts.products, 6);
}

TEST(EmulatorDeathTest, AStackThatOverflowsEndsAtItsGuard) {
    const auto body = [](void*) {
        auto* top = static_cast<volatile char*>(__builtin_frame_address(0));
        for (std::size_t used = 0; used < Fiber::kStackBytes; used += 4096)
            top[-static_cast<std::ptrdiff_t>(used)] = 0;
    };
    EXPECT_DEATH(emulate({}, 32, 0, body, {}), "");
}

TEST(Emulator, RefusesABlockThatIsNoWholeNumberOfWarps) {
    EXPECT_THAT([] { emulate({}, 33, 0, [](void*) {}, {}); },
                ThrowsMessage<EmulatorError>(HasSubstr("a block of 33 threads")));
}

TEST(Emulator, ADeviceFunctionOutsideAKernelIsAnError) {
    EXPECT_THAT([] { sync_block(); }, ThrowsMessage<EmulatorError>(HasSubstr("outside a kernel")));
}

}  // namespace
}  // namespace rm::simt
