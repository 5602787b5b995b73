#include "engine/comm/staged_communicator.h"

namespace rm {
namespace {

bool is_sum(CommOp op) {
    return op == CommOp::all_reduce_sum || op == CommOp::reduce_scatter_sum;
}

}  // namespace

std::unique_ptr<Stream> Transport::make_stream(Device& device) {
    return device.make_host_stream("communication");
}

std::unique_ptr<Communicator> Transport::make_communicator(Device& device, Stream& stream,
                                                           const Mesh& mesh,
                                                           CommProgress& progress) {
    return std::make_unique<StagedCommunicator>(*this, device, stream, mesh, progress);
}

StagedCommunicator::StagedCommunicator(Transport& transport, Device& device, Stream& stream,
                                       const Mesh& mesh, CommProgress& progress)
    : Communicator(transport.rank(), mesh),
      transport_(transport),
      stream_(stream),
      progress_(progress),
      scratch_(device, kScratch),
      staging_(device) {
    RM_CHECK(mesh.num_ranks() == transport.num_ranks(), "the mesh has {} ranks, the transport {}",
             mesh.num_ranks(), transport.num_ranks());
}

StagedCommunicator::~StagedCommunicator() {
    try {
        stream_.synchronize();
    } catch (const std::exception&) {
        // The error is sticky: the next caller that synchronizes sees it.
    }
}

TensorView StagedCommunicator::scratch(DType dtype) const {
    return {scratch_.data(), dtype, {kScratch.value / size_of(dtype)}};
}

void StagedCommunicator::enqueue(Collective collective) {
    std::vector<MemoryRange> writes = collective.writes;
    if (is_sum(collective.op)) writes.push_back({scratch_.data(), kScratch});
    const std::vector<MemoryRange> reads = std::move(collective.reads);
    const std::vector<Traffic> sent = std::move(collective.sent);
    const QueuedWork what = {name(collective), reads, writes, sent};
    stream_.queue(what, [this, collective = std::move(collective)] { show(collective); });
}

void StagedCommunicator::show(const Collective& collective) {
    progress_.last = collective.id();
    ++progress_.entered;
    progress_.pulse.beat();
    const std::int64_t before = transport_.bytes_sent();
    if (collective.op == CommOp::ring_shift) {
        play_shifts(collective);
    } else {
        play(collective);
        count(collective.key, collective.op, transport_.bytes_sent() - before);
    }
    ++progress_.left;
    progress_.pulse.beat();
}

// The transport counts all shifts together; each counts for its own group.
void StagedCommunicator::play_shifts(const Collective& collective) {
    std::vector<RingShift> at_once;
    for (const auto& [key, out, in] : collective.shifts)
        at_once.push_back({group(key), out, in});
    rm::ring_shifts(transport_, staging_, at_once);
    for (const auto& [key, out, in] : collective.shifts)
        count(key, CommOp::ring_shift, out.num_bytes().value);
}

void StagedCommunicator::play(const Collective& collective) {
    const Group& group = this->group(collective.key);
    const TensorView& x = collective.x;
    switch (collective.op) {
        case CommOp::ring_shift:
            return play_shifts(collective);
        case CommOp::all_reduce_sum:
            return rm::all_reduce_sum(transport_, group, staging_, x, scratch(x.dtype()));
        case CommOp::reduce_scatter_sum:
            return rm::reduce_scatter_sum(transport_, group, staging_, x, scratch(x.dtype()));
        case CommOp::all_gather:
            return rm::all_gather(transport_, group, staging_, x);
        case CommOp::all_to_all:
            return rm::all_to_all(transport_, group, staging_, x, collective.in);
        case CommOp::broadcast:
            return rm::broadcast(transport_, group, staging_, x, collective.root_index);
        case CommOp::barrier:
            return rm::barrier(transport_, group);
    }
}

}  // namespace rm
