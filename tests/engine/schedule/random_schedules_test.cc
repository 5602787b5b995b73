// Compares random schedules with brute force: a graph of all items and every pair of accesses.
#include <gtest/gtest.h>

#include <bitset>
#include <map>

#include "base/random.h"
#include "engine/schedule/clock.h"
#include "engine/schedule/races.h"
#include "tests/engine/schedule/schedule_builder.h"
#include "tests/engine/schedule/waits.h"

namespace rm::test {
namespace {

using Kind = ScheduleItem::Kind;

constexpr int kNumStreams = 3;
constexpr std::size_t kMaxItems = 64;

std::vector<Span> random_spans(Rng& rng) {
    std::vector<Span> spans;
    for (std::uint64_t count = rng.below(3); count > 0; --count) {
        const std::uint64_t begin = rng.below(40);
        spans.push_back({begin, begin + 1 + rng.below(6)});
    }
    return spans;
}

class RandomSchedule {
public:
    explicit RandomSchedule(std::uint64_t seed) : rng_(seed) {
        const std::uint64_t length = 5 + rng_.below(kMaxItems - 4);
        for (std::uint64_t i = 0; i < length; ++i)
            add();
    }
    const StepSchedule& schedule() const { return builder_.schedule(); }

private:
    int stream() { return static_cast<int>(rng_.below(kNumStreams)); }
    void add() {
        const std::uint64_t what = rng_.below(40);
        if (what == 0) {
            builder_.join(stream());
        } else if (what < 10) {
            records_.push_back(builder_.record(stream()));
        } else if (what < 25 && !records_.empty()) {
            // Prefers late items, which order more.
            const std::uint64_t back = rng_.below(std::min<std::uint64_t>(3, records_.size()));
            builder_.wait(stream(), records_[records_.size() - 1 - back]);
        } else {
            builder_.work(stream(), "work", {random_spans(rng_), random_spans(rng_)},
                          static_cast<double>(rng_.below(5)));
        }
    }

    Rng rng_;
    ScheduleBuilder builder_;
    std::vector<std::uint32_t> records_;
};

// For each item, the items that have ended when it begins. A join precedes every later item,
// because the host queues those afterwards.
using Order = std::vector<std::bitset<kMaxItems>>;

bool is_before(const ScheduleItem& a, std::uint32_t index, const ScheduleItem& b) {
    if (a.kind == Kind::join) return true;
    if (b.kind == Kind::wait && b.index == index) return true;
    return a.stream == b.stream;
}

Order order_of(const StepSchedule& schedule) {
    Order before(schedule.items.size());
    for (std::uint32_t b = 0; b < before.size(); ++b) {
        for (std::uint32_t a = 0; a < b; ++a) {
            if (is_before(schedule.items[a], a, schedule.items[b]))
                before[b] |= before[a] | std::bitset<kMaxItems>(1) << a;
        }
    }
    return before;
}

bool meet(std::span<const AddressRange> a, std::span<const AddressRange> b) {
    for (const AddressRange& x : a) {
        for (const AddressRange& y : b) {
            if (x.address < y.address + static_cast<std::uint64_t>(y.size) &&
                y.address < x.address + static_cast<std::uint64_t>(x.size)) {
                return true;
            }
        }
    }
    return false;
}

bool conflict(const StepSchedule& schedule, const ScheduleItem& a, const ScheduleItem& b) {
    if (a.kind != Kind::work || b.kind != Kind::work) return false;
    return meet(schedule.writes(a), schedule.writes(b)) ||
           meet(schedule.writes(a), schedule.reads(b)) ||
           meet(schedule.reads(a), schedule.writes(b));
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Lists races as find_races does: for an item, the last racing item of each stream.
Pairs races_the_long_way(const StepSchedule& schedule) {
    const Order before = order_of(schedule);
    Pairs races;
    for (std::uint32_t b = 0; b < schedule.items.size(); ++b) {
        std::map<int, std::uint32_t> last;
        for (std::uint32_t a = 0; a < b; ++a) {
            if (before[b][a] || !conflict(schedule, schedule.items[a], schedule.items[b])) continue;
            last[schedule.items[a].stream] = a;
        }
        for (const auto& [stream, a] : last)
            races.emplace_back(a, b);
    }
    return races;
}

Pairs pairs_of(const std::vector<Race>& races) {
    Pairs pairs;
    for (const Race& race : races)
        pairs.emplace_back(race.first, race.second);
    return pairs;
}

TEST(RandomSchedules, HaveTheRacesThatTheLongWayFinds) {
    int racing = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        SCOPED_TRACE(seed);
        const RandomSchedule random(seed);
        const Pairs expected = races_the_long_way(random.schedule());
        ASSERT_EQ(pairs_of(find_races(random.schedule(), 10'000)), expected);
        if (!expected.empty()) ++racing;
    }
    EXPECT_GT(racing, 500);
    EXPECT_LT(racing, 1450);
}

// Removes all races: work that races with earlier work no longer touches anything.
StepSchedule tamed(StepSchedule schedule) {
    while (true) {
        const Pairs races = races_the_long_way(schedule);
        if (races.empty()) return schedule;
        for (const auto& [first, second] : races) {
            schedule.items[second].num_reads = 0;
            schedule.items[second].num_writes = 0;
        }
    }
}

Pairs first_race_without(StepSchedule schedule, std::uint32_t wait) {
    schedule.items[wait].kind = Kind::mark;
    schedule.items[wait].index = 0;
    Pairs races = races_the_long_way(schedule);
    if (races.size() > 1) races.resize(1);
    return races;
}

TEST(RandomSchedules, HaveWaitsForWhatTheLongWayFindsWithoutThem) {
    int needed = 0;
    int redundant = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE(seed);
        const StepSchedule schedule = tamed(RandomSchedule(seed).schedule());
        for (const WaitFinding& finding : examine_waits(schedule)) {
            const Pairs expected = first_race_without(schedule, finding.wait);
            ASSERT_EQ(pairs_of(finding.races), expected) << "wait " << finding.wait;
            ++(expected.empty() ? redundant : needed);
        }
    }
    EXPECT_GT(needed, 100);
    EXPECT_GT(redundant, 100);
}

TEST(RandomSchedules, AreClockedByWhatIsBeforeWhat) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        const RandomSchedule random(seed);
        const StepSchedule& schedule = random.schedule();
        const Order before = order_of(schedule);
        const ClockedSchedule clocked = run_clock(schedule, {});
        std::vector<double> end;
        for (std::uint32_t b = 0; b < schedule.items.size(); ++b) {
            double begin = 0;
            for (std::uint32_t a = 0; a < b; ++a)
                begin = std::max(begin, before[b][a] ? end[a] : 0);
            end.push_back(begin + schedule.items[b].seconds.value);
            ASSERT_EQ(clocked.items[b].end, end[b]) << "item " << b;
        }
    }
}

}  // namespace
}  // namespace rm::test
