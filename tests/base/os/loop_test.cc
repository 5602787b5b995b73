#include "base/os/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace rm::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Far longer than any of these waits takes: a test that reaches it has found a hang.
constexpr std::chrono::seconds kLimit{20};
constexpr Seconds kLong{1000};

// Counts calls of one thread for others to wait on. libstdc++ 12's semaphore may sleep for ever
// (its bug 104928).
class Calls {
public:
    void add(int count = 1) {
        const std::lock_guard lock(mutex_);
        count_ += count;
        added_.notify_all();
    }
    bool wait(int count = 1) { return comes_within(kLimit, count); }
    bool comes_within(milliseconds span, int count = 1) {
        std::unique_lock lock(mutex_);
        if (!added_.wait_for(lock, span, [&] { return count_ >= count; })) return false;
        count_ -= count;
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable added_;
    int count_ = 0;
};

TEST(SleepFor, SleepsToTheEndWithoutAStop) {
    const auto start = Clock::now();
    EXPECT_TRUE(sleep_for(Seconds{0.02}, {}));
    EXPECT_GE(Clock::now() - start, milliseconds(20));
}

TEST(SleepFor, EndsAtOnceWhenAStopIsRequested) {
    std::stop_source source;
    const std::jthread stopper([&] {
        std::this_thread::sleep_for(milliseconds(10));
        source.request_stop();
    });
    const auto start = Clock::now();
    EXPECT_FALSE(sleep_for(kLong, source.get_token()));
    EXPECT_LT(Clock::now() - start, kLimit);
    EXPECT_FALSE(sleep_for(kLong, source.get_token())) << "it was requested before the call";
}

TEST(Loop, CallsAtOnceAndThenAfterEachSleep) {
    std::vector<Clock::time_point> times;
    Calls calls;
    Loop loop([&](auto&) -> std::optional<Seconds> {
        times.push_back(Clock::now());
        calls.add();
        return times.size() < 3 ? std::optional(Seconds{0.02}) : Loop::kEnd;
    });
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(calls.wait());
    loop.stop();
    ASSERT_EQ(times.size(), 3u);
    EXPECT_GE(times[1] - times[0], milliseconds(20));
    EXPECT_GE(times[2] - times[1], milliseconds(20));
}

TEST(Loop, SleepsBeforeTheFirstCallWhenToldTo) {
    const auto start = Clock::now();
    Calls calls;
    Loop loop(
        [&](auto&) {
            calls.add();
            return Loop::kUntilWoken;
        },
        Seconds{0.02});
    ASSERT_TRUE(calls.wait());
    EXPECT_GE(Clock::now() - start, milliseconds(20));
}

TEST(Loop, IsNotCalledUntilWoken) {
    Calls calls;
    Loop loop(
        [&](auto&) {
            calls.add();
            return Loop::kUntilWoken;
        },
        Loop::kUntilWoken);
    EXPECT_FALSE(calls.comes_within(milliseconds(20)));
    loop.wake();
    EXPECT_TRUE(calls.wait());
    EXPECT_FALSE(calls.comes_within(milliseconds(20))) << "one wake-up is one call";
}

TEST(Loop, AWakeUpEndsALongSleep) {
    Calls calls;
    Loop loop([&](auto&) {
        calls.add();
        return kLong;
    });
    ASSERT_TRUE(calls.wait());
    loop.wake();
    EXPECT_TRUE(calls.wait());
}

// The body has already looked for work but is not asleep yet.
TEST(Loop, AWakeUpDuringACallMeansOneMoreCall) {
    Calls begun, may_return;
    Loop loop([&](auto&) {
        begun.add();
        may_return.wait();
        return Loop::kUntilWoken;
    });
    ASSERT_TRUE(begun.wait());
    for (int i = 0; i < 5; ++i)
        loop.wake();
    may_return.add();
    EXPECT_TRUE(begun.wait()) << "the wake-ups are lost";
    may_return.add();
    EXPECT_FALSE(begun.comes_within(milliseconds(20))) << "five wake-ups are one call";
}

TEST(Loop, TheBodyMayWakeItsOwnLoop) {
    std::atomic<Loop*> self = nullptr;
    Calls calls;
    Loop loop(
        [&](auto&) {
            self.load()->wake();
            calls.add();
            return Loop::kUntilWoken;
        },
        Loop::kUntilWoken);
    self = &loop;
    loop.wake();
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(calls.wait());
}

// The loop takes every item that a thread pushes before it wakes it, wherever the loop was.
TEST(Loop, NoWakeUpIsLostBetweenTheBodyAndTheSleep) {
    std::atomic<int> queued = 0;
    Calls taken;
    Loop loop([&](auto&) {
        taken.add(queued.exchange(0));
        return Loop::kUntilWoken;
    });
    for (int round = 0; round < 10'000; ++round) {
        // The loop falls asleep between rounds; items 2 and 3 arrive while it is about to.
        for (int item = 0; item < 3; ++item) {
            ++queued;
            loop.wake();
        }
        ASSERT_TRUE(taken.wait(3)) << "a wake-up was lost in round " << round;
    }
}

TEST(Loop, AStopEndsASleepAtOnce) {
    for (const Seconds span : {kLong, Loop::kUntilWoken}) {
        Calls calls;
        Loop loop([&](auto&) {
            calls.add();
            return span;
        });
        ASSERT_TRUE(calls.wait());
        const auto start = Clock::now();
        loop.stop();
        EXPECT_LT(Clock::now() - start, kLimit);
    }
}

TEST(Loop, AStopWaitsForTheCallUnderWayAndNoneFollows) {
    std::atomic<int> begun = 0, ended = 0;
    Calls calls;
    Loop loop([&](auto&) {
        ++begun;
        calls.add();
        std::this_thread::sleep_for(milliseconds(20));
        ++ended;
        return Seconds{};
    });
    ASSERT_TRUE(calls.wait());
    loop.stop();
    EXPECT_EQ(begun, ended);
    const int then = ended;
    loop.wake();
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(begun, then);
}

TEST(Loop, AStopGoesBeforeAWakeUp) {
    Calls begun, may_return;
    std::atomic<int> calls = 0;
    Loop loop([&](const std::stop_token& stop) {
        ++calls;
        begun.add();
        may_return.wait();
        while (!stop.stop_requested())
            std::this_thread::yield();
        return Seconds{};
    });
    ASSERT_TRUE(begun.wait());
    loop.wake();
    may_return.add();
    loop.stop();
    EXPECT_EQ(calls, 1);
}

TEST(Loop, TheBodySeesTheStop) {
    Calls begun;
    bool slept_to_the_end = true;
    Loop loop([&](const std::stop_token& stop) {
        begun.add();
        slept_to_the_end = sleep_for(kLong, stop);
        return Seconds{};
    });
    ASSERT_TRUE(begun.wait());
    loop.stop();
    EXPECT_FALSE(slept_to_the_end);
}

TEST(Loop, IsNotCalledWhenItIsStoppedDuringTheFirstSleep) {
    std::atomic<int> calls = 0;
    Loop loop(
        [&](auto&) {
            ++calls;
            return Seconds{};
        },
        kLong);
    loop.stop();
    EXPECT_EQ(calls, 0);
}

TEST(Loop, EndsWhenItsBodySaysSo) {
    std::atomic<int> calls = 0;
    Calls ended;
    Loop loop(
        [&](auto&) {
            ++calls;
            return Loop::kEnd;
        },
        {}, [&] { ended.add(); });
    ASSERT_TRUE(ended.wait());
    loop.wake();
    loop.stop();
    EXPECT_EQ(calls, 1);
}

TEST(Loop, CallsAtEndOnceAndOnItsThreadAfterTheLastCall) {
    std::vector<std::thread::id> threads;
    Calls calls;
    {
        Loop loop(
            [&](auto&) {
                threads.push_back(std::this_thread::get_id());
                calls.add();
                return kLong;
            },
            {}, [&] { threads.push_back(std::this_thread::get_id()); });
        ASSERT_TRUE(calls.wait());
        loop.stop();
        EXPECT_EQ(threads.size(), 2u);
    }
    ASSERT_EQ(threads.size(), 2u);
    EXPECT_EQ(threads[0], threads[1]);
    EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Loop, TheDestructorStops) {
    std::atomic<int> calls = 0;
    Calls begun;
    auto loop = std::make_unique<Loop>([&](auto&) {
        ++calls;
        begun.add();
        return Seconds{0.001};
    });
    ASSERT_TRUE(begun.wait());
    loop.reset();
    const int then = calls;
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(calls, then);
}

// Mainly for the thread sanitizer: data that only the body touches needs no lock of its own.
TEST(Loop, ManyThreadsMayWakeAndStopAtOnce) {
    for (int round = 0; round < 50; ++round) {
        std::int64_t calls = 0;
        Loop loop([&](auto&) {
            ++calls;
            return Loop::kUntilWoken;
        });
        std::atomic<bool> go = false;
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                while (!go)
                    std::this_thread::yield();
                for (int n = 0; n < 200; ++n)
                    loop.wake();
                if (i % 2 == 0) return;
                loop.stop();
                loop.stop();
                EXPECT_LE(calls, 8 * 200 + 1) << "the loop has ended: its counter is ours";
            });
        }
        go = true;
    }
}

TEST(LoopDeathTest, WhatTheBodyThrowsEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Loop loop([](auto&) -> Seconds { throw std::runtime_error("broken"); });
            std::this_thread::sleep_for(kLimit);
        },
        "broken");
}

}  // namespace
}  // namespace rm::test
