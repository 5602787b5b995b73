#include "engine/windows/step_memory.h"

#include <algorithm>
#include <utility>

namespace rm {

StepMemory::StepMemory(const RankStreams& streams, StepArena& device, StepArena& host,
                       const MemoryPolicy& policy)
    : streams_(streams),
      others_{&streams.communication},
      device_(device),
      host_(host),
      policy_(policy) {}

StepMemory::~StepMemory() {
    order().set_pending(streams_.compute, nullptr);
}

ArenaTensor StepMemory::on_device(BufferName name, const TensorView& like) {
    if (like.rank() == 2) return on_device(name, like.dtype(), {like.dim(0), like.dim(1)});
    return on_device(name, like.dtype(), {like.dim(0), like.dim(1), like.dim(2)});
}

// Whether every stream that could wait for the mark has passed it, so that no stream will need a
// wait for it.
bool StepMemory::is_over(const StreamOrder::Mark& mark, Waiters waiters) const {
    const auto has_passed = [&](const Stream* stream) {
        return !streams_.order.needs_wait(*stream, mark);
    };
    return has_passed(&streams_.compute) && has_passed(&streams_.to_host) &&
           has_passed(&streams_.from_host) &&
           (waiters == Waiters::windows || std::ranges::all_of(others_, has_passed));
}

// The oldest event again where it is over: a long context has more records than events fit in
// memory.
StreamOrder::Mark StepMemory::record(Stream& stream, Waiters waiters) {
    std::deque<UsedEvent>& events = events_[static_cast<std::size_t>(waiters)];
    std::unique_ptr<Event> event;
    if (!events.empty() && is_over(events.front().mark, waiters)) {
        event = std::move(events.front().event);
        events.pop_front();
    } else {
        event = device().make_event();
    }
    const StreamOrder::Mark mark = order().record(stream, *event);
    events.push_back({std::move(event), mark});
    return mark;
}

void StepMemory::wait(Stream& stream, const std::vector<StreamOrder::Mark>& marks) {
    if (&stream != &streams_.compute) return order().wait_all(stream, marks);
    for (const StreamOrder::Mark& mark : marks)
        wait_soon(mark);
}

void StepMemory::wait_soon(const StreamOrder::Mark& mark) {
    if (!order().needs_wait(streams_.compute, mark)) return;
    note(pending_, mark);
    has_pending_ = true;
}

void StepMemory::flush() {
    has_pending_ = false;
    const Marks marks = std::exchange(pending_, {});
    const auto needed = [&](const StreamOrder::Mark& mark) {
        return order().needs_wait(streams_.compute, mark);
    };
    if (std::ranges::none_of(marks, needed)) return;
    current_->begin(streams_.compute);
    order().wait_all(streams_.compute, marks);
    current_->end(streams_.compute);
}

void StepMemory::note(Marks& marks, const StreamOrder::Mark& mark) {
    StreamOrder::Mark& latest = marks[mark.index];
    if (latest.event == nullptr || mark.is_later_than(latest)) latest = mark;
}

void StepMemory::begin_pass() {
    order().set_pending(streams_.compute, this);  // models take turns
    for (std::deque<UsedEvent>& events : events_) {
        for (UsedEvent& used : events)
            used.mark = {};
    }
    users_ = {};
    note(users_, record(streams_.compute, Waiters::windows));
    used_by_compute_ = false;
}

TensorView StepMemory::request(BufferName name, DType dtype,
                               std::initializer_list<std::int64_t> shape) {
    join_users();
    return device_.request(name, dtype, shape);
}

// By then only compute touches it.
void StepMemory::release(const TensorView& buffer) {
    device_.release(buffer);
    used_by_compute_ = true;
}

void StepMemory::join_users() {
    for (const StreamOrder::Mark& mark : std::exchange(unjoined_, {}))
        wait_soon(mark);
}

void StepMemory::add_former_users(std::vector<StreamOrder::Mark>& marks,
                                  const WindowStreams& streams) {
    // Compute joins all users when it requests a buffer.
    if (!is_compute(streams)) return marks.push_back(record(streams_.compute, Waiters::all));
    if (std::exchange(used_by_compute_, false)) {
        // The marks that compute has yet to wait for are among the users themselves.
        const bool has_pending = std::exchange(has_pending_, false);
        note(users_, record(streams_.compute, Waiters::windows));
        has_pending_ = has_pending;
    }
    marks.insert(marks.end(), users_.begin(), users_.end());
}

void StepMemory::release_after(ArenaTensor buffer, const StreamOrder::Mark& mark) {
    leaving_.push_back({std::move(buffer), mark});
}

void StepMemory::give_back(std::vector<Leaving>& buffers) {
    const bool used_by_compute = used_by_compute_;
    for (const Leaving& leaving : buffers) {
        if (leaving.mark.event == nullptr) continue;
        note(users_, leaving.mark);
        note(unjoined_, leaving.mark);
    }
    buffers.clear();
    used_by_compute_ = used_by_compute;
}

void StepMemory::settle() {
    give_back(leaving_next_);
    std::swap(leaving_, leaving_next_);
}

void StepMemory::end_pass() {
    settle();
    settle();
    join_users();
    flush();
}

}  // namespace rm
