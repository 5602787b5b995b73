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

Traffic of_group(GroupKey key, Traffic sent) {
    sent.group = static_cast<int>(key);
    return sent;
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

std::int32_t Communicator::Collective::id() const {
    return comm_id(key, op);
}

Communicator::Communicator(int rank, const Mesh& mesh) {
    for (const GroupKey key : kGroupKeys) {
        groups_[usize(key)] = make_group(mesh, rank, key);
    }
    for (std::size_t id = 0; id < names_.size(); ++id) {
        names_[id] = comm_name(static_cast<std::int32_t>(id));
    }
}

void Communicator::count(GroupKey key, CommOp op, std::int64_t bytes) {
    bytes_sent_[usize(comm_id(key, op))] += bytes;
}

void Communicator::ring_shift(GroupKey key, const TensorView& out, const TensorView& in) {
    ring_shifts({{key, out, in}});
}

void Communicator::ring_shifts(std::vector<Shift> shifts) {
    std::erase_if(shifts, [this](const Shift& shift) { return group(shift.key).size() == 1; });
    if (shifts.empty()) return;
    Collective collective{.key = shifts[0].key, .op = CommOp::ring_shift};
    for (const auto& [key, out, in] : shifts) {
        collective.reads.push_back(range_of(out));
        collective.writes.push_back(range_of(in));
        add_shift(collective.sent, static_cast<int>(key),
                  ring_shift_traffic(cutting().staging, out));
    }
    collective.shifts = std::move(shifts);
    enqueue(std::move(collective));
}

void Communicator::enqueue_sum(GroupKey key, CommOp op, const TensorView& x) {
    if (group(key).size() == 1) return;
    const auto& [staging, scratch] = cutting();
    const std::int64_t elements = scratch.value / size_of(x.dtype());
    const auto traffic = op == CommOp::all_reduce_sum ? all_reduce_traffic : reduce_scatter_traffic;
    enqueue({.key = key,
             .op = op,
             .x = x,
             .writes = {range_of(x)},
             .sent = {of_group(key, traffic(group(key), staging, x, elements))}});
}

void Communicator::all_reduce_sum(GroupKey key, const TensorView& x) {
    enqueue_sum(key, CommOp::all_reduce_sum, x);
}

void Communicator::reduce_scatter_sum(GroupKey key, const TensorView& x) {
    enqueue_sum(key, CommOp::reduce_scatter_sum, x);
}

void Communicator::all_gather(GroupKey key, const TensorView& whole) {
    if (group(key).size() == 1) return;  // its tensors may be empty
    enqueue({.key = key,
             .op = CommOp::all_gather,
             .x = whole,
             .reads = {own_part(whole, group(key))},
             .writes = other_parts(whole, group(key)),
             .sent = {of_group(key, all_gather_traffic(group(key), cutting().staging, whole))}});
}

void Communicator::all_to_all(GroupKey key, const TensorView& out, const TensorView& in) {
    if (group(key).size() == 1) return;  // its tensors may be empty
    enqueue({.key = key,
             .op = CommOp::all_to_all,
             .x = out,
             .in = in,
             .reads = other_parts(out, group(key)),
             .writes = other_parts(in, group(key)),
             .sent = {of_group(key, all_to_all_traffic(group(key), cutting().staging, out))}});
}

void Communicator::broadcast(GroupKey key, const TensorView& x, int root_index) {
    if (group(key).size() == 1) return;
    Collective collective{.key = key,
                          .op = CommOp::broadcast,
                          .x = x,
                          .root_index = root_index,
                          .sent = {of_group(key, broadcast_traffic(group(key), x, root_index))}};
    const bool sends = group(key).index == root_index;
    (sends ? collective.reads : collective.writes).push_back(range_of(x));
    enqueue(std::move(collective));
}

void Communicator::barrier(GroupKey key) {
    if (group(key).size() == 1) return;
    enqueue(
        {.key = key, .op = CommOp::barrier, .sent = {of_group(key, barrier_traffic(group(key)))}});
}

CommCounters Communicator::counters() const {
    CommCounters counters;
    for (std::size_t id = 0; id < names_.size(); ++id) {
        const std::int64_t bytes = bytes_sent_[id].load();
        if (bytes <= 0) continue;
        counters.bytes_sent[names_[id]] = bytes;
        counters.bytes_by_axis[std::string(axis_name(group_of(id)))] += bytes;
    }
    counters.waited = waited();
    return counters;
}

}  // namespace rm
