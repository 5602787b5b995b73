#include "engine/model/kv_stream.h"

namespace rm {
namespace {

struct KeyValue {
    TensorView k;
    TensorView v;
};

KeyValue split(const TensorView& both) {
    const std::int64_t rows = both.dim(0) / 2;
    return {both.rows(0, rows), both.rows(rows, rows)};
}

// Foreign block `step` (1 .. R-1) lies in one of two buffers.
std::size_t buffer_of(int step) {
    return static_cast<std::size_t>((step - 1) % 2);
}

}  // namespace

RingBuffers::RingBuffers(Kernels& kernels, Communicator& comm, Stream& comm_stream,
                         std::int64_t local_tokens, std::int64_t num_kv_heads,
                         std::int64_t head_dim)
    : communicator(comm), communication(comm_stream) {
    Device& device = kernels.device();
    const NumericTypes types = kernels.types();
    const auto make = [&](DType dtype) {
        return Tensor(device, MemoryKind::communication, dtype,
                      {2 * local_tokens, num_kv_heads, head_dim});
    };
    own_ready = device.make_event();
    travel_summed = device.make_event();
    const bool foreign = comm.group(GroupKey::ring).size() > 1;
    for (std::size_t i = 0; i < 2; ++i) {
        kv_arrived[i] = device.make_event();
        kv_consumed[i] = device.make_event();
        travel_arrived[i] = device.make_event();
        if (foreign) kv[i] = make(types.compute);
    }
    travel[0] = make(types.accum);
    if (!foreign) return;
    travel[1] = make(types.accum);
    local = make(types.accum);
}

RingKv::RingKv(RingBuffers& buffers, const Ops& ops, const TensorView& own,
               const std::vector<std::vector<Run>>& slot_runs)
    : buffers_(buffers),
      ops_(ops),
      own_(own),
      slot_runs_(slot_runs),
      ring_(buffers.communicator.group(GroupKey::ring)) {}

TensorView RingKv::block(int step) const {
    return step == 0 ? own_ : buffers_.kv[buffer_of(step)].view();
}

void RingKv::start_hop(int step) {
    const std::size_t target = buffer_of(step);
    // Its former block (of step - 2, or of the layer before) must have been used.
    buffers_.communication.wait(*buffers_.kv_consumed[target]);
    buffers_.communicator.ring_shift(Axis::ring, block(step - 1), block(step));
    buffers_.communication.record(*buffers_.kv_arrived[target]);
}

KvBlock RingKv::next() {
    RM_CHECK(step_ < num_blocks(), "block {} of a ring of {}", step_, num_blocks());
    if (step_ == 0) {
        ops_.stream().record(*buffers_.own_ready);
        buffers_.communication.wait(*buffers_.own_ready);
    } else {
        buffers_.exposed.begin(ops_.stream());
        ops_.stream().wait(*buffers_.kv_arrived[buffer_of(step_)]);
        buffers_.exposed.end(ops_.stream());
    }
    if (step_ + 1 < num_blocks()) start_hop(step_ + 1);
    const auto slot = static_cast<std::size_t>((ring_.index - step_ + ring_.size()) % ring_.size());
    const KeyValue kv = split(block(step_));
    return {kv.k, kv.v, slot_runs_[slot]};
}

void RingKv::done() {
    if (step_ > 0) ops_.stream().record(*buffers_.kv_consumed[buffer_of(step_)]);
    ++step_;
}

RingKvGrad::RingKvGrad(RingBuffers& buffers, const Ops& ops, const TensorView& own,
                       const std::vector<std::vector<Run>>& slot_runs)
    : buffers_(buffers), ops_(ops), kv_(buffers, ops, own, slot_runs) {}

KvGradBlock RingKvGrad::next() {
    const KvBlock kv = kv_.next();
    // Own block: its sum starts here. A foreign block: the sum is still on its way.
    const TensorView target = step_ == 0 ? buffers_.travel[0].view() : buffers_.local.view();
    ops_(FillZero{target});
    const KeyValue grads = split(target);
    return {kv, grads.k, grads.v};
}

void RingKvGrad::wait_for_travel() {
    buffers_.exposed.begin(ops_.stream());
    ops_.stream().wait(*buffers_.travel_arrived[static_cast<std::size_t>(current_)]);
    buffers_.exposed.end(ops_.stream());
}

void RingKvGrad::done() {
    kv_.done();
    const auto here = static_cast<std::size_t>(current_);
    if (step_ > 0) {
        wait_for_travel();
        ops_(Add{buffers_.local, buffers_.travel[here]});
    }
    ++step_;
    if (num_blocks() == 1) return;
    ops_.stream().record(*buffers_.travel_summed);
    buffers_.communication.wait(*buffers_.travel_summed);
    const std::size_t there = 1 - here;
    buffers_.communicator.ring_shift(Axis::ring, buffers_.travel[here], buffers_.travel[there]);
    buffers_.communication.record(*buffers_.travel_arrived[there]);
    current_ = static_cast<int>(there);
}

TensorView RingKvGrad::finish() {
    RM_CHECK(step_ == num_blocks(), "finished after {} of {} blocks", step_, num_blocks());
    if (num_blocks() > 1) wait_for_travel();
    return buffers_.travel[static_cast<std::size_t>(current_)];
}

}  // namespace rm
