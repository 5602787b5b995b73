#include "engine/comm/communicator.h"

#include <algorithm>

#include "engine/comm/traffic.h"

namespace rm {
namespace {

std::int32_t comm_id(GroupKey key, CommOp op) {
    return 1 + static_cast<std::int32_t>(key) * static_cast<std::int32_t>(kNumCommOps) +
           static_cast<std::int32_t>(op);
}

GroupKey group_of(std::size_t id) {
    return static_cast<GroupKey>((id - 1) / kNumCommOps);
}

// Shifts of one group share its link.
void add_shift(std::vector<Traffic>& sent, int group, const Traffic& shift) {
    const auto same = [&](const Traffic& other) { return other.group == group; };
    const auto known = std::find_if(sent.begin(), sent.end(), same);
    if (known == sent.end()) {
        sent.push_back({group, shift.messages, shift.bytes});
    } else {
        known->messages = std::max(known->messages, shift.messages);
        known->bytes += shift.bytes;
    }
}

MemoryRange elements_of(const TensorView& x, const Part& part) {
    return range_of(x.reshaped({x.num_elements()}).rows(part.first, part.count));
}

MemoryRange own_part(const TensorView& x, const Group& group) {
    return elements_of(x, part_of(x.num_elements(), group.size(), group.index));
}

// The ranges before and after this rank's own part.
std::vector<MemoryRange> other_parts(const TensorView& x, const Group& group) {
    const Part own = part_of(x.num_elements(), group.size(), group.index);
    const std::int64_t end = own.first + own.count;
    return {elements_of(x, {0, own.first}), elements_of(x, {end, x.num_elements() - end})};
}

}  // namespace

std::string_view to_string(CommOp op) {
    constexpr std::array<std::string_view, kNumCommOps> kNames = {
        "ring_shift", "all_reduce_sum",     "all_gather", "broadcast",
        "barrier",    "reduce_scatter_sum", "all_to_all"};
    return kNames[usize(op)];
}

std::string comm_name(std::int32_t id) {
    if (id == 0) return "none";
    const auto num_ops = static_cast<std::int32_t>(kNumCommOps);
    const auto num_groups = static_cast<std::int32_t>(kGroupKeys.size());
    if (id < 0 || id > num_groups * num_ops) return format("unknown collective {}", id);
    return format("{} {}", to_string(group_of(usize(id))),
                  to_string(static_cast<CommOp>((id - 1) % num_ops)));
}

Communicator::Communicator(Transport& transport, Device& device, Stream& stream, const Mesh& mesh,
                           CommProgress& progress)
    : transport_(transport),
      stream_(stream),
      progress_(progress),
      scratch_(device, kScratch),
      staging_(device) {
    RM_CHECK(mesh.num_ranks() == transport.num_ranks(), "the mesh has {} ranks, the transport {}",
             mesh.num_ranks(), transport.num_ranks());
    for (const GroupKey key : kGroupKeys) {
        groups_[usize(key)] = make_group(mesh, transport.rank(), key);
    }
    for (std::size_t id = 0; id < names_.size(); ++id) {
        names_[id] = comm_name(static_cast<std::int32_t>(id));
    }
}

Communicator::~Communicator() {
    try {
        stream_.synchronize();
    } catch (const std::exception&) {
        // The error is sticky: the next caller that synchronizes sees it.
    }
}

void Communicator::show(std::int32_t id, const std::function<void()>& play) {
    progress_.last = id;
    ++progress_.entered;
    progress_.pulse.beat();
    play();
    ++progress_.left;
    progress_.pulse.beat();
}

void Communicator::enqueue(GroupKey key, CommOp op, const Operands& operands, Traffic sent,
                           Play play) {
    if (group(key).size() == 1) return;
    const std::int32_t id = comm_id(key, op);
    const auto slot = usize(id);
    sent.group = static_cast<int>(key);
    const QueuedWork what = {names_[slot], operands.reads, operands.writes, std::span(&sent, 1)};
    stream_.queue(what, [this, key, id, slot, play = std::move(play)] {
        const std::int64_t before = transport_.bytes_sent();
        show(id, [&] { play(group(key)); });
        bytes_sent_[slot] += transport_.bytes_sent() - before;
    });
}

void Communicator::ring_shift(GroupKey key, const TensorView& out, const TensorView& in) {
    ring_shifts({{key, out, in}});
}

void Communicator::ring_shifts(std::vector<Shift> shifts) {
    std::erase_if(shifts, [this](const Shift& shift) { return group(shift.key).size() == 1; });
    if (shifts.empty()) return;
    Operands operands;
    std::vector<Traffic> sent;
    for (const auto& [key, out, in] : shifts) {
        operands.reads.push_back(range_of(out));
        operands.writes.push_back(range_of(in));
        add_shift(sent, static_cast<int>(key), ring_shift_traffic(staging_, out));
    }
    const std::int32_t id = comm_id(shifts[0].key, CommOp::ring_shift);
    const auto& name = names_[usize(id)];
    stream_.queue({name, operands.reads, operands.writes, sent},
                  [this, id, shifts = std::move(shifts)] { play_shifts(id, shifts); });
}

void Communicator::play_shifts(std::int32_t id, std::span<const Shift> shifts) {
    std::vector<RingShift> at_once;
    for (const auto& [key, out, in] : shifts)
        at_once.push_back({group(key), out, in});
    show(id, [&] { rm::ring_shifts(transport_, staging_, at_once); });
    // The transport counts all shifts together.
    for (const auto& [key, out, in] : shifts) {
        bytes_sent_[usize(comm_id(key, CommOp::ring_shift))] += out.num_bytes().value;
    }
}

TensorView Communicator::scratch(DType dtype) const {
    return {scratch_.data(), dtype, {kScratch.value / size_of(dtype)}};
}

void Communicator::enqueue_sum(GroupKey key, CommOp op, Sum sum, const TensorView& x,
                               Traffic sent) {
    const Operands operands = {{}, {range_of(x), {scratch_.data(), kScratch}}};
    enqueue(key, op, operands, sent, [this, sum, x](const Group& group) {
        sum(transport_, group, staging_, x, scratch(x.dtype()));
    });
}

void Communicator::all_reduce_sum(GroupKey key, const TensorView& x) {
    const std::int64_t scratch_elements = scratch(x.dtype()).num_elements();
    enqueue_sum(key, CommOp::all_reduce_sum, rm::all_reduce_sum, x,
                all_reduce_traffic(group(key), staging_, x, scratch_elements));
}

void Communicator::reduce_scatter_sum(GroupKey key, const TensorView& x) {
    const std::int64_t scratch_elements = scratch(x.dtype()).num_elements();
    enqueue_sum(key, CommOp::reduce_scatter_sum, rm::reduce_scatter_sum, x,
                reduce_scatter_traffic(group(key), staging_, x, scratch_elements));
}

void Communicator::all_gather(GroupKey key, const TensorView& whole) {
    if (group(key).size() == 1) return;  // its tensors may be empty
    const Operands operands = {{own_part(whole, group(key))}, other_parts(whole, group(key))};
    enqueue(
        key, CommOp::all_gather, operands, all_gather_traffic(group(key), staging_, whole),
        [this, whole](const Group& group) { rm::all_gather(transport_, group, staging_, whole); });
}

void Communicator::all_to_all(GroupKey key, const TensorView& out, const TensorView& in) {
    if (group(key).size() == 1) return;  // its tensors may be empty
    const Operands operands = {other_parts(out, group(key)), other_parts(in, group(key))};
    enqueue(key, CommOp::all_to_all, operands, all_to_all_traffic(group(key), staging_, out),
            [this, out, in](const Group& group) {
                rm::all_to_all(transport_, group, staging_, out, in);
            });
}

void Communicator::broadcast(GroupKey key, const TensorView& x, int root_index) {
    Operands operands;
    (group(key).index == root_index ? operands.reads : operands.writes).push_back(range_of(x));
    enqueue(key, CommOp::broadcast, operands, broadcast_traffic(group(key), x, root_index),
            [this, x, root_index](const Group& group) {
                rm::broadcast(transport_, group, staging_, x, root_index);
            });
}

void Communicator::barrier(GroupKey key) {
    enqueue(key, CommOp::barrier, {}, barrier_traffic(group(key)),
            [this](const Group& group) { rm::barrier(transport_, group); });
}

CommCounters Communicator::counters() const {
    CommCounters counters;
    for (std::size_t id = 0; id < names_.size(); ++id) {
        const std::int64_t bytes = bytes_sent_[id].load();
        if (bytes <= 0) continue;
        counters.bytes_sent[names_[id]] = bytes;
        counters.bytes_by_axis[std::string(axis_name(group_of(id)))] += bytes;
    }
    counters.waited = transport_.waited();
    return counters;
}

}  // namespace rm
