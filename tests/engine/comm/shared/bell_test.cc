#include "engine/comm/shared/bell.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using std::chrono::seconds;
using testing::Stopwatch;

TEST(Bell, EndsTheSleepOfItsOwner) {
    Bell bell;
    const Stopwatch watch;
    const std::uint32_t heard = bell.heard();
    std::jthread ringer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        bell.ring();
    });
    while (bell.heard() == heard)
        bell.sleep(heard, seconds(60));
    EXPECT_LT(watch.seconds(), 10);
}

TEST(Bell, IsHeardThoughItRangBeforeTheSleep) {
    Bell bell;
    const Stopwatch watch;
    const std::uint32_t heard = bell.heard();
    bell.ring();
    bell.sleep(heard, seconds(60));
    EXPECT_LT(watch.seconds(), 10);
}

TEST(Bell, LetsItsOwnerSleepNoLongerThanItWants) {
    Bell bell;
    const Stopwatch watch;
    bell.sleep(bell.heard(), std::chrono::milliseconds(30));
    EXPECT_GT(watch.seconds(), 0.001);
    EXPECT_LT(watch.seconds(), 10);
    bell.sleep(bell.heard(), seconds(-1));  // a deadline that has passed
    EXPECT_LT(watch.seconds(), 10);
}

// Two threads ring at each other in turn: a lost ring would cost a minute.
TEST(Bell, LosesNoRing) {
    constexpr int kTurns = 2000;
    Bell bells[2];
    std::atomic<int> turn{0};
    const auto play = [&](int me) {
        for (int i = me; i < kTurns; i += 2) {
            while (true) {
                const std::uint32_t heard = bells[me].heard();
                if (turn == i) break;
                bells[me].sleep(heard, seconds(60));
            }
            ++turn;
            bells[1 - me].ring();
        }
    };
    const Stopwatch watch;
    std::thread other(play, 1);
    play(0);
    other.join();
    EXPECT_EQ(turn, kTurns);
    EXPECT_LT(watch.seconds(), 30);
}

}  // namespace
}  // namespace rm
