#include "engine/schedule/buffers.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

// The first address above all ranges and buffers of the schedule.
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

}  // namespace

BufferIndex::BufferIndex(std::span<const ScheduledBuffer> buffers) : buffers_(buffers) {
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i].range.size > 0) by_address_.push_back(i);
    }
    std::sort(by_address_.begin(), by_address_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return buffers[a].range.address < buffers[b].range.address;
    });
    for (std::size_t i = 1; i < by_address_.size(); ++i) {
        const ScheduledBuffer& before = buffers[by_address_[i - 1]];
        const ScheduledBuffer& after = buffers[by_address_[i]];
        RM_CHECK(end_of(before.range) <= after.range.address,
                 "buffers '{}' and '{}' share addresses; a recorded schedule gives none out twice",
                 before.name, after.name);
    }
}

std::optional<std::uint32_t> BufferIndex::find(const AddressRange& range) const {
    const auto ends_before = [&](std::uint32_t i, std::uint64_t address) {
        return end_of(buffers_[i].range) <= address;
    };
    const auto at =
        std::lower_bound(by_address_.begin(), by_address_.end(), range.address, ends_before);
    if (at == by_address_.end() || end_of(range) <= buffers_[*at].range.address) {
        return std::nullopt;
    }
    const ScheduledBuffer& buffer = buffers_[*at];
    RM_CHECK(range.address >= buffer.range.address && end_of(range) <= end_of(buffer.range),
             "{} bytes at {} lie in '{}', {} bytes at {}, with a part only", range.size,
             range.address, buffer.name, buffer.range.size, buffer.range.address);
    return *at;
}

std::vector<std::uint32_t> buffers_of_arena(const StepSchedule& schedule, int arena) {
    std::vector<std::uint32_t> buffers;
    for (const ScheduleItem& item : schedule.items) {
        if (item.kind == Kind::request && schedule.buffers[item.index].arena == arena) {
            buffers.push_back(item.index);
        }
    }
    return buffers;
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

}  // namespace rm
