#include "tests/engine/train/other_plans.h"

#include <algorithm>

namespace rm::test {
namespace {

using Kind = ScheduleItem::Kind;

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kTried = 24;  // candidates on either side

}  // namespace

OtherPlans::OtherPlans(const StepSchedule& schedule)
    : schedule_(schedule),
      index_(schedule.buffers),
      lives_(buffer_lives(schedule).value()),
      last_touch_(schedule.buffers.size(), -1) {
    for (std::uint32_t i = 0; i < schedule.items.size(); ++i) {
        for (const std::uint32_t buffer : touched_by(i))
            last_touch_[buffer] = i;
    }
}

std::vector<std::uint32_t> OtherPlans::touched_by(std::uint32_t item) const {
    std::vector<std::uint32_t> buffers;
    if (item == kNone || schedule_.items[item].kind != Kind::work) return buffers;
    const ScheduleItem& work = schedule_.items[item];
    for (const auto ranges : {schedule_.reads(work), schedule_.writes(work)}) {
        for (const AddressRange& range : ranges) {
            if (const auto buffer = index_.find(range)) buffers.push_back(*buffer);
        }
    }
    return buffers;
}

// Looks on the same stream.
std::uint32_t OtherPlans::next_work(std::uint32_t item) const {
    for (std::uint32_t i = item; i < schedule_.items.size(); ++i) {
        const ScheduleItem& next = schedule_.items[i];
        if (next.kind == Kind::work && next.stream == schedule_.items[item].stream) return i;
    }
    return kNone;
}
std::uint32_t OtherPlans::last_work(std::uint32_t item) const {
    for (std::uint32_t i = item; i-- > 0;) {
        const ScheduleItem& last = schedule_.items[i];
        if (last.kind == Kind::work && last.stream == schedule_.items[item].stream) return i;
    }
    return kNone;
}

// Buffers released before this buffer's request, most recently touched first.
std::vector<std::uint32_t> OtherPlans::touched_last_before(std::uint32_t buffer) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t other = 0; other < lives_.size(); ++other) {
        if (fits({other, buffer})) found.push_back(other);
    }
    const auto last = [this](std::uint32_t b) { return last_touch_[b]; };
    std::ranges::sort(found, std::greater<>(), last);
    if (found.size() > kTried) found.resize(kTried);
    return found;
}

bool OtherPlans::fits(const Pair& pair) const {
    const auto& [released, requested] = pair;
    const ScheduledBuffer &before = schedule_.buffers[released],
                          &after = schedule_.buffers[requested];
    return before.arena == after.arena && lives_[released].release != BufferLife::kNever &&
           lives_[released].release < lives_[requested].request;
}

// Pairs a buffer touched after the wait with one released before its request, and a buffer touched
// by the awaited work with one requested later.
std::vector<OtherPlans::Pair> OtherPlans::pairs_around(std::uint32_t wait) const {
    std::vector<Pair> pairs;
    for (const std::uint32_t requested : touched_by(next_work(wait))) {
        for (const std::uint32_t released : touched_last_before(requested))
            pairs.push_back({released, requested});
    }
    for (const std::uint32_t released : touched_by(last_work(schedule_.items[wait].index))) {
        std::size_t tried = 0;
        for (std::uint32_t later = released + 1; later < lives_.size() && tried < kTried; ++later) {
            if (!fits({released, later})) continue;
            pairs.push_back({released, later});
            ++tried;
        }
    }
    return pairs;
}

// Copies the recorded ranges but moves those of one buffer to one end of the room. If the buffer
// does not fit, each of them covers the whole room.
void OtherPlans::move_ranges(StepSchedule& copy, const AddressRange& from, const AddressRange& room,
                             End end) const {
    const std::int64_t slack = end == End::end ? room.size - from.size : 0;
    for (std::size_t i = 0; i < copy.ranges.size(); ++i) {
        const AddressRange& range = schedule_.ranges[i];
        copy.ranges[i] = range;
        const bool moves = range.address >= from.address && end_of(range) <= end_of(from);
        if (!moves) continue;
        copy.ranges[i] = room;
        if (from.size > room.size) continue;
        copy.ranges[i].address +=
            (range.address - from.address) + static_cast<std::uint64_t>(slack);
        copy.ranges[i].size = range.size;
    }
}

std::vector<Race> OtherPlans::races_without(std::uint32_t wait) const {
    StepSchedule without = schedule_;
    ScheduleItem& item = without.items[wait];
    item.kind = Kind::mark;
    item.index = 0;
    for (const auto& [released, requested] : pairs_around(wait)) {
        const AddressRange& from = schedule_.buffers[requested].range;
        const AddressRange& room = schedule_.buffers[released].range;
        for (const End end : {End::begin, End::end}) {
            move_ranges(without, from, room, end);
            std::vector<Race> races = find_races(without, 1);
            if (!races.empty()) return races;
        }
    }
    return {};
}

}  // namespace rm::test
