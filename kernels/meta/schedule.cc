#include "kernels/meta/schedule.h"

#include <bit>

namespace rm {

using Kind = ScheduleItem::Kind;

namespace {

constexpr std::size_t kMostRecycled = std::size_t{64} << 20;  // bytes

// One schedule's memory, empty.
StepSchedule& spare() {
    static thread_local StepSchedule schedule;
    return schedule;
}

}  // namespace

void recycle(StepSchedule&& schedule) {
    StepSchedule empty;  // but for the memory of most of it
    empty.items = std::move(schedule.items);
    empty.items.clear();
    const std::size_t bytes = empty.items.capacity() * sizeof(ScheduleItem);
    if (bytes <= kMostRecycled && empty.items.capacity() >= spare().items.capacity())
        spare() = std::move(empty);
}

ScheduleRecorder::ScheduleRecorder(KeptRanges ranges)
    : ranges_(ranges), schedule_(std::exchange(spare(), {})) {}

int ScheduleRecorder::add_stream(std::string_view name) {
    schedule_.streams.emplace_back(name);
    return static_cast<int>(schedule_.streams.size()) - 1;
}

std::uint32_t ScheduleRecorder::name_index(std::string_view name) {
    // Names are literals: one at the same place is most probably the same.
    RecentName& recent = recent_[std::hash<const char*>()(name.data()) % recent_.size()];
    const std::vector<std::string>& names = schedule_.names;
    if (recent.data == name.data() && recent.index < names.size() && names[recent.index] == name)
        return recent.index;
    recent = {name.data(), find_name(name)};
    return recent.index;
}

std::uint32_t ScheduleRecorder::find_name(std::string_view name) {
    if (const auto known = names_.find(name); known != names_.end()) return known->second;
    const auto next = static_cast<std::uint32_t>(schedule_.names.size());
    schedule_.names.emplace_back(name);
    names_.emplace(name, next);
    return next;
}

void ScheduleRecorder::add_ranges(std::span<const MemoryRange> ranges) {
    for (const MemoryRange& range : ranges) {
        schedule_.ranges.push_back({std::bit_cast<std::uintptr_t>(range.data), range.size.value});
    }
}

void ScheduleRecorder::work(int stream, const QueuedWork& what, Cost cost) {
    ScheduleItem item{
        .kind = Kind::work, .stream = static_cast<std::uint8_t>(stream), .op_class = what.op_class};
    item.index = name_index(what.op);
    item.first_range = static_cast<std::uint32_t>(schedule_.ranges.size());
    const bool moves = what.op_class == OpClass::upload || what.op_class == OpClass::download;
    if (moves || ranges_ == KeptRanges::all) {
        item.num_reads = static_cast<std::uint16_t>(what.reads.size());
        item.num_writes = static_cast<std::uint16_t>(what.writes.size());
        add_ranges(what.reads);
        add_ranges(what.writes);
    }
    item.first_traffic = static_cast<std::uint32_t>(schedule_.traffic.size());
    item.num_traffic = static_cast<std::uint32_t>(what.traffic.size());
    item.seconds = cost.seconds;
    item.flops = cost.flops;
    schedule_.traffic.insert(schedule_.traffic.end(), what.traffic.begin(), what.traffic.end());
    add(item);
}

std::uint32_t ScheduleRecorder::record(int stream) {
    add({.kind = Kind::record, .stream = static_cast<std::uint8_t>(stream)});
    return static_cast<std::uint32_t>(schedule_.items.size()) - 1;
}

void ScheduleRecorder::wait(int stream, std::uint32_t record) {
    add({.kind = Kind::wait, .stream = static_cast<std::uint8_t>(stream), .index = record});
}

std::uint32_t ScheduleRecorder::request(ScheduledBuffer buffer) {
    const auto index = static_cast<std::uint32_t>(schedule_.buffers.size());
    schedule_.buffers.push_back(std::move(buffer));
    add({.kind = Kind::request, .index = index});
    return index;
}

void ScheduleRecorder::release(std::uint32_t buffer) {
    add({.kind = Kind::release, .index = buffer});
}

void ScheduleRecorder::join(int stream) {
    add({.kind = Kind::join, .stream = static_cast<std::uint8_t>(stream)});
}

void ScheduleRecorder::mark(std::string_view name) {
    add({.kind = Kind::mark, .index = name_index(name)});
}

}  // namespace rm
