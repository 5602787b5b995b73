#include "engine/schedule/placement.h"

#include <algorithm>

#include "base/check.h"
#include "engine/schedule/buffer_index.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

// In the order of their requests, which is that of the plan.
std::vector<std::uint32_t> buffers_of_arena(const StepSchedule& schedule, int arena) {
    std::vector<std::uint32_t> buffers;
    for (const ScheduleItem& item : schedule.items) {
        if (item.kind == Kind::request && schedule.buffers[item.index].arena == arena) {
            buffers.push_back(item.index);
        }
    }
    return buffers;
}

// After all that the schedule names.
std::uint64_t free_address(const StepSchedule& schedule) {
    std::uint64_t end = 0;
    for (const AddressRange& range : schedule.ranges)
        end = std::max(end, end_of(range));
    for (const ScheduledBuffer& buffer : schedule.buffers)
        end = std::max(end, end_of(buffer.range));
    return end;
}

std::uint64_t next_page(std::uint64_t address) {
    constexpr std::uint64_t kPage = 4096;
    return (address / kPage + 1) * kPage;
}

Status check_use(const StepSchedule& schedule, std::size_t at, std::uint32_t index,
                 const BufferLife& life) {
    const auto item = static_cast<std::int64_t>(at);
    const bool early = life.request == BufferLife::kNever || item < life.request;
    if (!early && (life.release == BufferLife::kNever || item < life.release)) return {};
    const ScheduleItem& work = schedule.items[at];
    return invalid_argument("{} on {} (item {}) touches '{}' {}", schedule.names[work.index],
                            schedule.streams[work.stream], at, schedule.buffers[index].name,
                            early ? std::string("before its request")
                                  : format("after its release (item {})", life.release));
}

}  // namespace

Result<ArenaTrace> arena_trace(const StepSchedule& schedule, int arena) {
    RM_TRY(const auto lives, buffer_lives(schedule));
    ArenaTrace trace;
    for (const std::uint32_t index : buffers_of_arena(schedule, arena)) {
        const ScheduledBuffer& buffer = schedule.buffers[index];
        const BufferLife& life = lives[index];
        if (life.release == BufferLife::kNever) {
            return invalid_argument("buffer '{}', requested at item {}, is never released",
                                    buffer.name, life.request);
        }
        trace.blocks.push_back({life.request, life.release, Bytes{buffer.range.size}});
        trace.groups.push_back(buffer.group);
    }
    return trace;
}

StepSchedule place_buffers(const StepSchedule& schedule, std::span<const ArenaPlan> plans) {
    const BufferIndex index(schedule.buffers);
    StepSchedule placed = schedule;
    std::uint64_t begin = next_page(free_address(schedule));
    for (std::size_t arena = 0; arena < plans.size(); ++arena) {
        const auto buffers = buffers_of_arena(schedule, static_cast<int>(arena));
        const std::vector<Bytes>& offsets = plans[arena].offsets;
        RM_CHECK(offsets.size() == buffers.size(), "arena {} has {} buffers, its plan {}", arena,
                 buffers.size(), offsets.size());
        std::uint64_t end = begin;
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            AddressRange& range = placed.buffers[buffers[i]].range;
            range.address = begin + static_cast<std::uint64_t>(offsets[i].value);
            end = std::max(end, end_of(range));
        }
        begin = next_page(end);
    }
    for (AddressRange& range : placed.ranges) {
        const auto found = index.find(range);
        if (!found) continue;
        const std::uint64_t offset = range.address - schedule.buffers[*found].range.address;
        range.address = placed.buffers[*found].range.address + offset;
    }
    return placed;
}

Status check_lifetimes(const StepSchedule& schedule) {
    const BufferIndex index(schedule.buffers);
    RM_TRY(const auto lives, buffer_lives(schedule));
    for (std::size_t i = 0; i < schedule.items.size(); ++i) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind != Kind::work) continue;
        const auto touched =
            std::span(schedule.ranges).subspan(item.first_range, item.num_reads + item.num_writes);
        for (const AddressRange& range : touched) {
            const auto found = index.find(range);
            if (found) RM_RETURN_IF_ERROR(check_use(schedule, i, *found, lives[*found]));
        }
    }
    return {};
}

}  // namespace rm
