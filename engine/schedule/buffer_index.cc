#include "engine/schedule/buffer_index.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

Status note_request(const ScheduledBuffer& buffer, BufferLife& life, std::int64_t item) {
    if (life.request != BufferLife::kNever) {
        return invalid_argument("buffer '{}' is requested at item {} and again at item {}",
                                buffer.name, life.request, item);
    }
    life.request = item;
    return {};
}

Status note_release(const ScheduledBuffer& buffer, BufferLife& life, std::int64_t item) {
    if (life.request == BufferLife::kNever) {
        return invalid_argument("buffer '{}' is released at item {} before it is requested",
                                buffer.name, item);
    }
    if (life.release != BufferLife::kNever) {
        return invalid_argument("buffer '{}' is released at item {} and again at item {}",
                                buffer.name, life.release, item);
    }
    life.release = item;
    return {};
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

Result<std::vector<BufferLife>> buffer_lives(const StepSchedule& schedule) {
    std::vector<BufferLife> lives(schedule.buffers.size());
    for (std::size_t i = 0; i < schedule.items.size(); ++i) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind != Kind::request && item.kind != Kind::release) continue;
        const auto note = item.kind == Kind::request ? note_request : note_release;
        RM_RETURN_IF_ERROR(
            note(schedule.buffers[item.index], lives[item.index], static_cast<std::int64_t>(i)));
    }
    return lives;
}

}  // namespace rm
