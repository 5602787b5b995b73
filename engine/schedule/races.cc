#include "engine/schedule/races.h"

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "engine/schedule/buffer_index.h"
#include "engine/schedule/race_search.h"

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

// Placed buffers share bytes: the one that is live when the item is queued.
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

}  // namespace rm
