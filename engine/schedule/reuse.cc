#include "engine/schedule/reuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/format.h"
#include "engine/schedule/buffer_index.h"
#include "engine/schedule/stream_order.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;
using LastWork = std::vector<std::uint32_t>;  // by stream, its number there; 0: none

void raise(LastWork& to, const LastWork& from) {
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = std::max(to[i], from[i]);
}

class ReuseSearch {
public:
    explicit ReuseSearch(const StepSchedule& schedule)
        : schedule_(schedule),
          index_(schedule.buffers),
          clocks_(schedule),
          work_(schedule.streams.size()),
          touched_(schedule.buffers.size(), LastWork(schedule.streams.size())),
          before_(touched_) {}

    std::vector<ReuseRace> run(std::size_t limit) {
        for (std::uint32_t i = 0; i < schedule_.items.size() && races_.size() < limit; ++i) {
            visit(i);
            clocks_.pass(i);
        }
        return std::move(races_);
    }

private:
    LastWork& released(std::uint32_t buffer) {
        return released_.try_emplace(schedule_.buffers[buffer].arena, schedule_.streams.size())
            .first->second;
    }
    void visit(std::uint32_t i) {
        const ScheduleItem& item = schedule_.items[i];
        if (item.kind == Kind::request) before_[item.index] = released(item.index);
        if (item.kind == Kind::release) raise(released(item.index), touched_[item.index]);
        if (item.kind != Kind::work) return;
        work_[item.stream].push_back(i);
        const auto number = static_cast<std::uint32_t>(work_[item.stream].size());
        const std::size_t count = item.num_reads + item.num_writes;
        for (const AddressRange& range :
             std::span(schedule_.ranges).subspan(item.first_range, count)) {
            const std::optional<std::uint32_t> buffer = index_.find(range);
            if (!buffer) continue;
            touched_[*buffer][item.stream] = number;
            check(i, *buffer);
        }
    }
    void check(std::uint32_t i, std::uint32_t buffer) {
        const auto passed = clocks_.of(schedule_.items[i].stream);
        const LastWork& needed = before_[buffer];
        for (std::size_t stream = 0; stream < needed.size(); ++stream) {
            if (needed[stream] <= passed[stream]) continue;
            races_.push_back({work_[stream][needed[stream] - 1], i, buffer});
            return;
        }
    }

    const StepSchedule& schedule_;
    BufferIndex index_;
    StreamClocks clocks_;
    std::vector<std::vector<std::uint32_t>> work_;  // items, by stream
    std::vector<LastWork> touched_;                 // by buffer
    std::vector<LastWork> before_;      // by buffer: what its arena had released at its request
    std::map<int, LastWork> released_;  // by arena
    std::vector<ReuseRace> races_;
};

}  // namespace

std::string describe(const StepSchedule& schedule, const ReuseRace& race) {
    const auto named = [&](std::uint32_t index) {
        const ScheduleItem& item = schedule.items[index];
        return format("{} on {} (item {})", schedule.names[item.index],
                      schedule.streams[item.stream], index);
    };
    return format(
        "{} touches '{}', and {} a buffer that had been released before: nothing orders "
        "them",
        named(race.second), schedule.buffers[race.buffer].name, named(race.first));
}

std::vector<ReuseRace> find_reuse_races(const StepSchedule& schedule, std::size_t limit) {
    return ReuseSearch(schedule).run(limit);
}

}  // namespace rm
