#include "engine/schedule/races.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/format.h"
#include "engine/schedule/buffers.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

std::optional<AddressRange> overlap(const AddressRange& a, const AddressRange& b) {
    const std::uint64_t begin = std::max(a.address, b.address);
    const std::uint64_t end = std::min(end_of(a), end_of(b));
    if (begin >= end) return std::nullopt;
    return AddressRange{begin, static_cast<std::int64_t>(end - begin)};
}

std::optional<AddressRange> overlap(std::span<const AddressRange> a,
                                    std::span<const AddressRange> b) {
    for (const AddressRange& x : a) {
        for (const AddressRange& y : b) {
            if (const auto both = overlap(x, y)) return both;
        }
    }
    return std::nullopt;
}

AddressRange meeting(const StepSchedule& schedule, const ScheduleItem& a, const ScheduleItem& b) {
    if (const auto both = overlap(schedule.writes(a), schedule.writes(b))) return *both;
    if (const auto both = overlap(schedule.writes(a), schedule.reads(b))) return *both;
    return overlap(schedule.reads(a), schedule.writes(b)).value_or(AddressRange{});
}

bool writes(const StepSchedule& schedule, const ScheduleItem& item, const AddressRange& bytes) {
    const auto written = schedule.writes(item);
    return std::any_of(written.begin(), written.end(),
                       [&](const AddressRange& range) { return overlap(range, bytes); });
}

// Placed buffers share bytes, so this names the buffer that is live when the item is queued.
std::string place_of(const StepSchedule& schedule, std::uint32_t item, const AddressRange& bytes) {
    std::optional<std::uint32_t> live;
    for (std::uint32_t i = 0; i < item; ++i) {
        const ScheduleItem& before = schedule.items[i];
        if (before.kind != Kind::request && before.kind != Kind::release) continue;
        if (!overlap(schedule.buffers[before.index].range, bytes)) continue;
        if (before.kind == Kind::request) live = before.index;
        if (before.kind == Kind::release && live == before.index) live.reset();
    }
    if (!live) return format("address 0x{:x}", bytes.address);
    const ScheduledBuffer& buffer = schedule.buffers[*live];
    return format("'{}' at offset {}", buffer.name, bytes.address - buffer.range.address);
}

std::string describe_access(const StepSchedule& schedule, std::uint32_t index,
                            const AddressRange& bytes) {
    const ScheduleItem& item = schedule.items[index];
    return format("{} on {} (item {}) {} {} bytes of {}", schedule.names[item.index],
                  schedule.streams[item.stream], index,
                  writes(schedule, item, bytes) ? "writes" : "reads", bytes.size,
                  place_of(schedule, index, bytes));
}

}  // namespace

std::string describe(const StepSchedule& schedule, const Race& race) {
    return format("{}, and {}: nothing orders them",
                  describe_access(schedule, race.first, race.bytes),
                  describe_access(schedule, race.second, race.bytes));
}

std::vector<Race> search_races(const StepSchedule& schedule, const Conflicts& conflicts,
                               StreamClocks& clocks, std::uint32_t first, std::size_t limit) {
    std::vector<Race> races;
    for (std::uint32_t i = first; i < schedule.items.size() && races.size() < limit; ++i) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind == Kind::work) {
            const auto before = clocks.of(item.stream);
            const auto needed = conflicts.of(i);
            for (std::size_t stream = 0; stream < before.size(); ++stream) {
                if (needed[stream] <= before[stream] || races.size() == limit) continue;
                const std::uint32_t other = conflicts.item(stream, needed[stream]);
                races.push_back({other, i, meeting(schedule, schedule.items[other], item)});
            }
        }
        clocks.pass(i);
    }
    return races;
}

std::vector<Race> find_races(const StepSchedule& schedule, std::size_t limit) {
    StreamClocks clocks(schedule);
    return search_races(schedule, Conflicts(schedule), clocks, 0, limit);
}

namespace {

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
