#include "engine/schedule/clock.h"

#include <deque>

#include "base/check.h"
#include "engine/schedule/rank_clock.h"

namespace rm {
namespace {

// Queues the ranks that may be able to advance, each at most once.
class Ready {
public:
    explicit Ready(std::size_t num_ranks) : waiting_(num_ranks) {
        for (std::size_t rank = 0; rank < num_ranks; ++rank)
            add(static_cast<int>(rank));
    }
    void add(int rank) {
        RM_CHECK(rank >= 0 && usize(rank) < waiting_.size(),
                 "a group has rank {}, but there are schedules of {} ranks", rank, waiting_.size());
        if (waiting_[usize(rank)]) return;
        waiting_[usize(rank)] = true;
        queue_.push_back(rank);
    }
    bool empty() const { return queue_.empty(); }
    std::size_t take() {
        const auto rank = usize(queue_.front());
        queue_.pop_front();
        waiting_[rank] = false;
        return rank;
    }

private:
    std::deque<int> queue_;
    std::vector<bool> waiting_;
};

void check_all_over(std::span<const RankClock> clocks) {
    constexpr int kShown = 8;
    std::string blocked;
    int count = 0;
    for (std::size_t rank = 0; rank < clocks.size(); ++rank) {
        if (clocks[rank].over() || ++count > kShown) continue;
        blocked += format("\n  rank {} in {}", rank, clocks[rank].describe_block());
    }
    RM_CHECK(count == 0, "{} of {} ranks wait for ranks that never come:{}{}", count, clocks.size(),
             blocked, count > kShown ? "\n  ..." : "");
}

}  // namespace

ClockedSchedule run_clock(const StepSchedule& schedule, const LinkSpeeds& links) {
    const RankGroups alone(1);
    return std::move(run_clocks(std::span(&schedule, 1), alone, links)[0]);
}

std::vector<ClockedSchedule> run_clocks(std::span<const StepSchedule> ranks,
                                        const RankGroups& groups, const LinkSpeeds& links) {
    RM_CHECK(groups.size() == ranks.size(), "{} schedules, and groups of {} ranks", ranks.size(),
             groups.size());
    Meetings meetings;
    std::vector<RankClock> clocks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        clocks.emplace_back(ranks[rank], static_cast<int>(rank), groups[rank], links, meetings);
    Ready ready(ranks.size());
    while (!ready.empty()) {
        for (const std::size_t place : clocks[ready.take()].advance()) {
            for (const int rank : meetings.ranks(place))
                ready.add(rank);
        }
    }
    check_all_over(clocks);
    std::vector<ClockedSchedule> clocked;
    for (RankClock& clock : clocks)
        clocked.push_back(clock.take());
    return clocked;
}

std::vector<LiveBytes> live_bytes(const StepSchedule& schedule, const ClockedSchedule& clocked,
                                  int arena) {
    using Kind = ScheduleItem::Kind;
    std::vector<LiveBytes> timeline;
    Bytes live;
    for (std::size_t i = 0; i < schedule.items.size(); ++i) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind != Kind::request && item.kind != Kind::release) continue;
        const ScheduledBuffer& buffer = schedule.buffers[item.index];
        if (buffer.arena != arena) continue;
        live += Bytes{item.kind == Kind::request ? buffer.range.size : -buffer.range.size};
        timeline.push_back({clocked.items[i].begin, live});
    }
    return timeline;
}

}  // namespace rm
