#include "kernels/simt/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kernels/simt/simt.h"

namespace rm::simt {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kThreads = 64;

class Schedules : public ::testing::TestWithParam<std::uint64_t> {
protected:
    Emulation emulation() const { return {GetParam()}; }
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
            ++seen[static_cast<std::size_t>((block_z() * 3 + block_y()) * 2 + block_x())];
    };
    emulate({2, 3, 4}, 32, 0, body, emulation());
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST_P(Schedules, ABarrierThatSomeThreadsSkipIsDiagnosed) {
    const auto body = [](void*) {
        if (warp() == 0) sync_block();
    };
    const auto run = [&] { emulate({}, kThreads, 0, body, emulation()); };
    EXPECT_THAT(run, ThrowsMessage<EmulatorError>(HasSubstr("32 threads wait in sync_block")));
    EXPECT_THAT(run, ThrowsMessage<EmulatorError>(HasSubstr("32 threads have exited")));
}

INSTANTIATE_TEST_SUITE_P(Emulator, Schedules, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace rm::simt
