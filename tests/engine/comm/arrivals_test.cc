#include "engine/comm/arrivals.h"

#include <gtest/gtest.h>

#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using testing::run_all;
using Clock = Arrivals::Clock;

constexpr std::int64_t kMiB = 1 << 20;

Clock::time_point at(double seconds) {
    return Clock::time_point() + std::chrono::hours(1) +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

TEST(Arrivals, KeepTheBestRateSinceTheLastLook) {
    Arrivals arrivals({1, 2});
    arrivals.over(1, kMiB, at(0), at(1));
    arrivals.over(1, 4 * kMiB, at(2), at(4));
    arrivals.over(1, kMiB, at(5), at(9));  // its sender was late
    const auto rates = arrivals.take();
    ASSERT_EQ(rates.size(), 1u);
    EXPECT_EQ(rates.at(1).bytes, 6 * kMiB);
    EXPECT_DOUBLE_EQ(rates.at(1).bytes_per_second, 2.0 * kMiB);
    EXPECT_TRUE(arrivals.take().empty());
}

TEST(Arrivals, OfShortMessagesSayNothing) {
    Arrivals arrivals({1});
    for (int i = 0; i < 100; ++i)
        arrivals.over(1, Arrivals::kLeast.value / 2, at(2 * i), at(2 * i + 1));
    EXPECT_TRUE(arrivals.take().empty());
}

// The rank posts two messages together and waits for the first; the second arrives before it.
TEST(Arrivals, ThatFollowEachOtherAreOneRun) {
    Arrivals arrivals({1});
    arrivals.over(1, kMiB, at(0), at(2));
    arrivals.over(1, kMiB, at(0), at(2.000001));
    arrivals.over(1, 2 * kMiB, at(1), at(4));
    EXPECT_NEAR(arrivals.take().at(1).bytes_per_second, kMiB, 0.01 * kMiB);
}

TEST(Arrivals, OverALinkOfSomeLatencyHaveItsRate) {
    constexpr Seconds kDelay{0.05};
    run_all({.num_ranks = 3, .links = {.delay = kDelay}}, [](Transport& transport) {
        std::vector<std::byte> data(2 * kMiB);
        const std::span<std::byte> all(data);
        const int next = (transport.rank() + 1) % 3;
        const int previous = (transport.rank() + 2) % 3;
        for (int i = 0; i < 5; ++i) {
            const auto in = transport.recv(previous, all.first(kMiB));
            const auto out = transport.send(next, all.last(kMiB));
            transport.wait(in);
            transport.wait(out);
        }
        const auto rates = transport.take_arrivals();
        ASSERT_EQ(rates.size(), 1u) << "from the previous one alone";
        EXPECT_EQ(rates.at(previous).bytes, 5 * kMiB);
        const double most = kMiB / kDelay.value;
        EXPECT_LE(rates.at(previous).bytes_per_second, 1.1 * most);
        EXPECT_GT(rates.at(previous).bytes_per_second, 0.5 * most);
    });
}

}  // namespace
}  // namespace rm
