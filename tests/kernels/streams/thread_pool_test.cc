#include "kernels/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "kernels/device.h"

namespace rm {
namespace {

TEST(ThreadPool, RunsEveryItemOnce) {
    for (const int num_threads : {1, 2, 3, 8}) {
        ThreadPool pool(num_threads);
        EXPECT_EQ(pool.num_threads(), num_threads);
        for (const std::int64_t num_items : {0, 1, 2, 7, 1000}) {
            std::vector<int> runs(static_cast<std::size_t>(num_items));
            pool.parallel_for(num_items,
                              [&](std::int64_t item) { ++runs[static_cast<std::size_t>(item)]; });
            for (const int count : runs)
                EXPECT_EQ(count, 1);
        }
    }
}

TEST(ThreadPool, WorkersNameScratchOfTheirOwn) {
    constexpr int kThreads = 3;
    ThreadPool pool(kThreads);
    std::vector<std::int64_t> scratch(kThreads);  // plain: a shared index would be a data race
    for (int round = 0; round < 200; ++round) {
        pool.parallel_for(50, [&](std::int64_t item, int worker) {
            ASSERT_GE(worker, 0);
            ASSERT_LT(worker, kThreads);
            scratch[static_cast<std::size_t>(worker)] += item;
        });
    }
    EXPECT_EQ(scratch[0] + scratch[1] + scratch[2], 200 * 50 * 49 / 2);
}

TEST(ThreadPool, UsesItsThreads) {
    ThreadPool pool(2);
    std::atomic<int> inside = 0;
    // Returns only when both threads are inside an item at the same time.
    pool.parallel_for(2, [&](std::int64_t) {
        ++inside;
        while (inside < 2)
            std::this_thread::yield();
    });
    EXPECT_EQ(inside, 2);
}

TEST(ThreadPool, RethrowsTheExceptionOfTheLowestItem) {
    ThreadPool pool(2);
    for (int round = 0; round < 100; ++round) {
        try {
            pool.parallel_for(20, [&](std::int64_t item) {
                if (item == 3 || item == 11) throw std::runtime_error(std::to_string(item));
            });
            FAIL() << "no exception";
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "3");
        }
        int count = 0;
        pool.parallel_for(1, [&](std::int64_t) { ++count; });
        EXPECT_EQ(count, 1) << "the pool is usable after an exception";
    }
}

TEST(ThreadPool, RefusesToBeEnteredFromAnItem) {
    for (const int num_threads : {1, 2}) {
        ThreadPool pool(num_threads);
        const auto nested = [&](std::int64_t) { pool.parallel_for(2, [](std::int64_t) {}); };
        EXPECT_THROW(pool.parallel_for(2, nested), CheckError);
    }
}

TEST(ThreadPool, NeedsAThread) {
    EXPECT_THROW(ThreadPool(0), CheckError);
}

TEST(ThreadPool, AcceptsConstBodies) {
    ThreadPool pool(2);
    std::atomic<int> count = 0;
    const auto body = [&](std::int64_t) { ++count; };
    pool.parallel_for(5, body);
    EXPECT_EQ(count, 5);
}

TEST(ThreadPool, WorksFromAStream) {
    ThreadPool pool(2);
    const auto device = make_host_device();
    const auto stream = device->make_stream("compute");
    std::vector<int> numbers(100);
    for (int round = 0; round < 20; ++round) {
        stream->enqueue("add", [&] {
            pool.parallel_for(100, [&](std::int64_t i) { ++numbers[static_cast<std::size_t>(i)]; });
        });
    }
    stream->synchronize();
    for (const int number : numbers)
        EXPECT_EQ(number, 20);
}

// Idle times near the spinning limit catch workers that fall asleep just as work arrives.
TEST(ThreadPool, LosesNoWakeup) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Rng rng(seed);
        ThreadPool pool(3);
        for (int round = 0; round < 300; ++round) {
            const auto num_items = static_cast<std::int64_t>(rng.below(6));
            std::atomic<std::int64_t> sum = 0;
            pool.parallel_for(num_items, [&](std::int64_t item) { sum += item + 1; });
            ASSERT_EQ(sum, num_items * (num_items + 1) / 2) << "seed " << seed;
            if (rng.below(4) == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(rng.below(300)));
            }
        }
    }
}

TEST(ThreadPool, MayGoRightAfterItsWork) {
    for (int round = 0; round < 100; ++round) {
        ThreadPool pool(4);
        std::atomic<int> count = 0;
        pool.parallel_for(8, [&](std::int64_t) { ++count; });
        ASSERT_EQ(count, 8);
    }
}

}  // namespace
}  // namespace rm
