#include "engine/comm/communicator.h"

namespace rm {
namespace {

std::int32_t comm_id(GroupKey key, CommOp op) {
    return 1 + static_cast<std::int32_t>(key) * static_cast<std::int32_t>(kNumCommOps) +
           static_cast<std::int32_t>(op);
}

}  // namespace

std::string_view to_string(CommOp op) {
    switch (op) {
        case CommOp::ring_shift:
            return "ring_shift";
        case CommOp::all_reduce_sum:
            return "all_reduce_sum";
        case CommOp::all_gather:
            return "all_gather";
        case CommOp::broadcast:
            return "broadcast";
        case CommOp::barrier:
            return "barrier";
    }
    return "?";
}

std::string comm_name(std::int32_t id) {
    if (id == 0) return "none";
    const auto num_ops = static_cast<std::int32_t>(kNumCommOps);
    const auto num_groups = static_cast<std::int32_t>(kGroupKeys.size());
    if (id < 0 || id > num_groups * num_ops) return format("unknown collective {}", id);
    return format("{} {}", to_string(static_cast<GroupKey>((id - 1) / num_ops)),
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
        groups_[static_cast<std::size_t>(key)] = make_group(mesh, transport.rank(), key);
    }
    for (std::size_t id = 0; id < names_.size(); ++id) {
        names_[id] = comm_name(static_cast<std::int32_t>(id));
    }
}

Communicator::~Communicator() {
    try {
        stream_.synchronize();
    } catch (const std::exception&) {
        // The error is sticky: whoever synchronizes next sees it.
    }
}

void Communicator::enqueue(GroupKey key, CommOp op, std::function<void(const Group&)> collective) {
    if (group(key).size() == 1) return;
    const std::int32_t id = comm_id(key, op);
    const auto slot = static_cast<std::size_t>(id);
    stream_.enqueue(names_[slot], [this, key, id, slot, collective = std::move(collective)] {
        progress_.last = id;
        ++progress_.entered;
        const std::int64_t before = transport_.bytes_sent();
        collective(group(key));
        bytes_sent_[slot] += transport_.bytes_sent() - before;
        ++progress_.left;
    });
}

void Communicator::ring_shift(Axis axis, const TensorView& out, const TensorView& in) {
    enqueue(group_key(axis), CommOp::ring_shift, [this, out, in](const Group& group) {
        rm::ring_shift(transport_, group, staging_, out, in);
    });
}

void Communicator::all_reduce_sum(GroupKey key, const TensorView& x) {
    enqueue(key, CommOp::all_reduce_sum, [this, x](const Group& group) {
        const std::int64_t elements = kScratch.value / size_of(x.dtype());
        const TensorView scratch(scratch_.data(), x.dtype(), {elements});
        rm::all_reduce_sum(transport_, group, staging_, x, scratch);
    });
}

void Communicator::all_gather(GroupKey key, const TensorView& whole) {
    enqueue(key, CommOp::all_gather, [this, whole](const Group& group) {
        rm::all_gather(transport_, group, staging_, whole);
    });
}

void Communicator::broadcast(GroupKey key, const TensorView& x, int root_index) {
    enqueue(key, CommOp::broadcast, [this, x, root_index](const Group& group) {
        rm::broadcast(transport_, group, staging_, x, root_index);
    });
}

void Communicator::barrier(GroupKey key) {
    enqueue(key, CommOp::barrier, [this](const Group& group) { rm::barrier(transport_, group); });
}

CommCounters Communicator::counters() const {
    CommCounters counters;
    for (std::size_t id = 0; id < names_.size(); ++id) {
        const std::int64_t bytes = bytes_sent_[id].load();
        if (bytes > 0) counters.bytes_sent[names_[id]] = bytes;
    }
    counters.waited = transport_.waited();
    return counters;
}

}  // namespace rm
