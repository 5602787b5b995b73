#include "engine/model/host_transfers.h"

#include <algorithm>

namespace rm {
namespace {

Bytes workspace_for(Kernels& host, const WeightState& state) {
    Bytes most;
    for (const StatePiece& piece : state.owned())
        most = std::max(most, host.workspace_bytes(SumSquares{.x = piece.grad, .sum = {}}));
    return most;
}

// Bytes of a rank's part of the largest unit, in the type that computes.
Bytes slot_bytes(const WeightState& state, DType compute) {
    std::int64_t most = 0;
    for (std::size_t unit = 0; unit < state.table().units.size(); ++unit)
        most = std::max(most, state.part_in_unit(static_cast<int>(unit)).count);
    return {most * size_of(compute)};
}

}  // namespace

HostTransfers::HostTransfers(const RankStreams& streams, const WeightState& state)
    : streams_(streams),
      device_(streams.kernels.device()),
      workspace_(device_, workspace_for(streams.host->kernels, state)),
      squares_(pinned(DType::f64, 1, scalar_memory_)),
      clip_(pinned(DType::f64, 3, clip_memory_)),
      clipped_(device_.make_event()),
      squared_(device_.make_event()),
      ops_(streams.host->kernels,
           {workspace_.data(), Bytes{static_cast<std::int64_t>(workspace_.bytes().size())}},
           streams.host->stream),
      uploads_(device_.make_stream("weights up")) {
    const auto [compute, accum, master] = streams.kernels.types();
    for (Slot& slot : slots_) {
        if (compute != master) slot.memory = PinnedBuffer(device_, slot_bytes(state, compute));
        slot.ready = device_.make_event();
        slot.sent = device_.make_event();
    }
    if (!device_.host_visible()) block_ = PinnedBuffer(device_, kBlock);
}

TensorView HostTransfers::pinned(DType dtype, std::int64_t count, PinnedBuffer& memory) {
    memory = PinnedBuffer(device_, {count * size_of(dtype)});
    return {memory.data(), dtype, {count}};
}

void HostTransfers::take(const TensorView& from, const TensorView& sums, Into into) {
    traffic_.to_host += from.num_bytes();
    const auto read = [&](const TensorView& part, const TensorView& to) {
        const MemoryRange reads = range_of(part), writes = range_of(to);
        stream().queue({"take_gradients", {&reads, 1}, {&writes, 1}, {}},
                       [&device = device_, part, to] { device.read(part, to.data()); });
    };
    const auto put = [&](const TensorView& x, const TensorView& to) {
        if (into == Into::overwrite) return ops_(Copy{x, to});
        ops_(Add{x, to});
    };
    if (into == Into::overwrite && from.dtype() == sums.dtype()) return read(from, sums);
    if (device_.host_visible()) return put(from, sums);
    const std::int64_t total = from.num_elements();
    const std::int64_t most = kBlock.value / size_of(from.dtype());
    for (std::int64_t first = 0; first < total; first += most) {
        const std::int64_t count = std::min(most, total - first);
        const TensorView block(block_.data(), from.dtype(), {count});
        read(from.rows(first, count), block);
        put(block, sums.rows(first, count));
    }
}

void HostTransfers::bring(const TensorView& master, const TensorView& to, const Event* free) {
    Slot& slot = slots_[next_slot_];
    next_slot_ = (next_slot_ + 1) % slots_.size();
    TensorView from = master;
    if (to.dtype() != master.dtype()) {
        streams_.order.wait(stream(), *slot.sent);  // what was here before
        from = TensorView(slot.memory.data(), to.dtype(), {master.num_elements()});
        ops_(Copy{master, from});
    }
    streams_.order.record(stream(), *slot.ready);
    if (free != nullptr) streams_.order.wait(*uploads_, *free);
    streams_.order.wait(*uploads_, *slot.ready);
    device_.upload(from.data(), to, *uploads_);
    traffic_.to_device += to.num_bytes();
    streams_.order.record(*uploads_, *slot.sent);
}

void HostTransfers::synchronize() {
    stream().synchronize();
    uploads_->synchronize();
    streams_.order.joined(stream());
    streams_.order.joined(*uploads_);
}

void HostTransfers::bring_squares(const TensorView& to) {
    streams_.order.follow(streams_.compute, stream(), *squared_);
    device_.upload(squares_.data(), to, streams_.compute);
}

const TensorView& HostTransfers::take_clip(const TensorView& clip) {
    device_.download(clip, clip_.data(), streams_.compute);
    streams_.order.follow(stream(), streams_.compute, *clipped_);
    return clip_;
}

}  // namespace rm
