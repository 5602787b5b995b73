#include "engine/streams/stream_order.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace rm {
namespace {

void merge(StreamOrder::VectorClock& into, const StreamOrder::VectorClock& clock) {
    for (std::size_t i = 0; i < into.size(); ++i)
        into[i] = std::max(into[i], clock[i]);
}

}  // namespace

// A new stream goes on where a forgotten one ended: all that this one had waited for is over.
std::size_t StreamOrder::index_of(const Stream& stream) {
    const auto found = std::ranges::find(streams_, &stream);
    if (found != streams_.end()) return usize(found - streams_.begin());
    const auto place = std::ranges::find(streams_, nullptr);
    const auto index = usize(place - streams_.begin());
    RM_CHECK(index < kMaxStreams, "a rank has more than {} streams", kMaxStreams);
    if (place == streams_.end()) streams_.emplace_back();
    streams_[index] = &stream;
    num_queued_[index] = 0;
    return index;
}

void StreamOrder::forget(const Stream& stream) {
    joined(stream);
    const std::size_t index = index_of(stream);
    streams_[index] = nullptr;
    pending_[index] = nullptr;
}

void StreamOrder::set_pending(const Stream& stream, PendingWaits* pending) {
    pending_[index_of(stream)] = pending;
}

// Advances a stream's own clock if work was queued on it since its last mark.
void StreamOrder::advance(const Stream& stream, std::size_t index) {
    const std::int64_t now = stream.num_queued();
    if (std::exchange(num_queued_[index], now) != now) ++known_[index][index];
}

StreamOrder::Mark StreamOrder::record(Stream& stream, Event& event) {
    const std::size_t index = index_of(stream);
    if (pending_[index] != nullptr && pending_[index]->has_pending()) pending_[index]->flush();
    stream.record(event);
    advance(stream, index);
    const Mark mark{&event, &stream, index, known_[index]};
    latest_[&event] = mark;
    return mark;
}

bool StreamOrder::needs_wait(const Stream& stream, const Mark& mark) {
    if (mark.event == nullptr || mark.stream == &stream) return false;
    const std::size_t own = index_of(stream);
    for (std::size_t i = 0; i < kMaxStreams; ++i) {
        if (i != own && known_[own][i] < mark.clock[i]) return true;
    }
    return false;
}

bool StreamOrder::wait(Stream& stream, const Mark& mark) {
    if (!needs_wait(stream, mark)) return false;
    stream.wait(*mark.event);
    merge(known_[index_of(stream)], mark.clock);
    return true;
}

void StreamOrder::wait_all(Stream& stream, std::span<const Mark> marks) {
    const auto follows_from_another = [marks](const Mark& mark) {
        for (const Mark& other : marks) {
            const std::int64_t least =
                mark.clock[mark.index] + (other.stream == mark.stream ? 1 : 0);
            if (other.event != nullptr && other.clock[mark.index] >= least) return true;
        }
        return false;
    };
    for (const Mark& mark : marks) {
        if (!follows_from_another(mark)) wait(stream, mark);
    }
    for (const Mark& mark : marks)
        wait(stream, mark);
}

bool StreamOrder::wait(Stream& stream, const Event& event) {
    const auto found = latest_.find(&event);
    if (found != latest_.end()) return wait(stream, found->second);
    stream.wait(event);
    return true;
}

void StreamOrder::joined(const Stream& stream) {
    const std::size_t index = index_of(stream);
    advance(stream, index);
    const VectorClock over = known_[index];
    for (VectorClock& known : known_)
        merge(known, over);
}

}  // namespace rm
