#include "tests/engine/schedule/lifetimes.h"

#include "engine/schedule/buffers.h"

namespace rm::test {
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

}  // namespace rm::test
