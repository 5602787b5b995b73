#include "engine/attention/kv_stream.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

using Shifts = std::vector<Communicator::Shift>;

int behind(int index, int steps, int size) {
    return (index - steps + size) % size;
}

// Index (0 or 1) of the double buffer that holds the n-th block, counted from 1.
std::size_t turn(int n) {
    return usize((n - 1) % 2);
}

// The slice of an outer-ring transfer to send during inner hop `index` of `num_parts`.
TensorView part(const TensorView& x, int num_parts, int index) {
    const Part rows = part_of(x.dim(0), num_parts, index);
    return x.rows(rows.first, rows.count);
}

int num_sums(const RingOrder& order) {
    if (order.num_blocks() == 1) return 1;
    return order.outer == 1 ? 3 : 5;
}

}  // namespace

RingOrder::RingOrder(const Communicator& communicator) {
    const Group& ring = communicator.group(GroupKey::ring);
    const Group& inner_ring = communicator.group(GroupKey::ring_inner);
    const Group& outer_ring = communicator.group(GroupKey::ring_outer);
    inner = ring.size();
    inner_index = ring.index;
    if (inner_ring.size() == 1 || outer_ring.size() == 1) return;
    inner_key = GroupKey::ring_inner;
    inner = inner_ring.size();
    inner_index = inner_ring.index;
    outer = outer_ring.size();
    outer_index = outer_ring.index;
}

std::size_t RingOrder::slot(int block) const {
    return usize(behind(outer_index, round(block), outer) * inner +
                 behind(inner_index, step(block), inner));
}

int RingOrder::backward(int n) const {
    return (n / inner + 1) % outer * inner + (n % inner + 1) % inner;
}

RingBuffers::RingBuffers(const RankStreams& rank_streams, StepMemory& memory,
                         std::int64_t slot_tokens, std::int64_t num_kv_heads, std::int64_t head_dim)
    : streams(rank_streams),
      order(streams.communicator),
      memory_(memory),
      rows_(2 * slot_tokens),
      num_kv_heads_(num_kv_heads),
      head_dim_(head_dim) {
    Device& device = memory.device();
    for (Events& events : events_)
        events = {device.make_event(), device.make_event()};
    for (auto* event : {&own_ready, &summed, &hops_over})
        *event = device.make_event();
}

std::size_t RingBuffers::place(int block) const {
    const int step = order.step(block);
    return step > 0 ? turn(step) : 2 + turn(order.round(block));
}

ArenaTensor RingBuffers::make(std::string_view what, DType dtype) const {
    return memory_.on_device({what}, dtype, {rows_, num_kv_heads_, head_dim_});
}

RingBuffers::Blocks RingBuffers::make_blocks() const {
    Blocks blocks;
    for (int i = 0; i < std::min(2, order.inner - 1); ++i)
        blocks[usize(i)] = make("ring block", memory_.types().compute);
    for (int i = 0; i < std::min(2, order.outer - 1); ++i)
        blocks[usize(2 + i)] = make("ring block", memory_.types().compute);
    return blocks;
}

ArenaTensor RingBuffers::make_sum() const {
    return make("ring sum", memory_.types().accum);
}

TensorView RingBlocks::view(int block) const {
    return block == 0 ? own_ : blocks_[buffers_.place(block)].view();
}

KvBlock RingBlocks::block(int block) const {
    const KeyValueRows kv = key_value(view(block));
    return {kv.k, kv.v, slot_runs_[order_.slot(block)]};
}

RingKv::RingKv(RingBuffers& buffers, const Ops& ops, const TensorView& own,
               const std::vector<std::vector<Run>>& slot_runs)
    : RingBlocks(buffers, ops, own, slot_runs) {
    buffers_.streams.order.record(ops_.stream(), *buffers_.own_ready);
}

// Waits until the block in this place has been used. Before the layer's first hop all are free.
void RingKv::wait_until_free(int block) {
    bool& is_used = is_used_[buffers_.place(block)];
    if (std::exchange(is_used, true))
        buffers_.streams.order.wait(buffers_.streams.communication,
                                    *buffers_.events(block).consumed);
}

// Starts the hops towards the next step of this round and towards the next round.
void RingKv::start_hops() {
    const int step = order_.step(block_);
    const int round_start = block_ - step;
    const int next_start = round_start + order_.inner;
    const bool last_step = step + 1 == order_.inner;
    Shifts shifts;
    if (!last_step) {
        wait_until_free(block_ + 1);
        shifts.push_back({order_.inner_key, view(block_), view(block_ + 1)});
    }
    if (next_start < order_.num_blocks()) {
        if (step == 0) wait_until_free(next_start);
        shifts.push_back({GroupKey::ring_outer, part(view(round_start), order_.inner, step),
                          part(view(next_start), order_.inner, step)});
    }
    buffers_.streams.communicator.ring_shifts(std::move(shifts));
    // The next round's first block is complete when its last part arrives.
    if (block_ + 1 < order_.num_blocks())
        buffers_.streams.order.record(buffers_.streams.communication,
                                      *buffers_.events(block_ + 1).arrived);
}

KvBlock RingKv::next() {
    RM_CHECK(block_ < order_.num_blocks(), "block {} of a ring of {}", block_, order_.num_blocks());
    if (order_.num_blocks() > 1) move_on();
    return block(block_);
}

// Waits for the current block and sends on what other ranks need.
void RingKv::move_on() {
    if (block_ == 0) {
        buffers_.streams.order.wait(buffers_.streams.communication, *buffers_.own_ready);
    } else {
        buffers_.streams.wait_exposed(*buffers_.events(block_).arrived, buffers_.exposed.forward);
    }
    start_hops();
}

void RingKv::done() {
    if (block_ > 0) buffers_.streams.order.record(ops_.stream(), *buffers_.events(block_).consumed);
    ++block_;
}

RingKvGrad::RingKvGrad(RingBuffers& buffers, const Ops& ops, const TensorView& own,
                       const std::vector<std::vector<Run>>& slot_runs)
    : RingBlocks(buffers, ops, own, slot_runs) {
    for (int i = 0; i < num_sums(order_); ++i)
        sums_[usize(i)] = buffers.make_sum();
    if (order_.num_blocks() > 1) start_first_hops();
}

// Fetches the first block, after the block that starts its round. Compute has finished with the
// former contents of the buffers.
void RingKvGrad::start_first_hops() {
    const int first = order_.backward(0);
    const int round_start = first - 1;
    buffers_.streams.order.follow(buffers_.streams.communication, ops_.stream(),
                                  *buffers_.own_ready);
    if (round_start > 0) {
        buffers_.streams.communicator.ring_shift(GroupKey::ring_outer, own_, view(round_start));
    }
    buffers_.streams.communicator.ring_shift(order_.inner_key, view(round_start), view(first));
    buffers_.streams.order.record(buffers_.streams.communication, *buffers_.hops_over);
}

// Starts the hops that the current block's compute hides: the sum that this rank added to last, and
// the next block.
void RingKvGrad::start_hops() {
    Shifts shifts;
    if (place_in_round() > 0) {
        shifts.push_back({order_.inner_key, at(places_.sent), at(places_.arriving)});
    }
    const int next = position_ + 1 < order_.num_blocks() ? order_.backward(position_ + 1) : 0;
    if (order_.step(next) > 0) shifts.push_back({order_.inner_key, view(next - 1), view(next)});
    if (!ends_round()) add_outer_hops(shifts);
    buffers_.streams.communicator.ring_shifts(std::move(shifts));
    buffers_.streams.order.record(buffers_.streams.communication, *buffers_.hops_over);
}

// Adds one part of the block that starts the next round, and one of the sum of the earlier rounds.
// Both are complete when this round's last step begins, which starts the next round's first hop.
void RingKvGrad::add_outer_hops(Shifts& shifts) const {
    const int num_parts = order_.inner - 1;
    const auto add = [&](const TensorView& out, const TensorView& in) {
        shifts.push_back({GroupKey::ring_outer, part(out, num_parts, place_in_round()),
                          part(in, num_parts, place_in_round())});
    };
    const int rounds_done = position_ / order_.inner;
    const int round_start = (rounds_done + 1) * order_.inner;
    if (rounds_done + 2 < order_.outer) add(view(round_start), view(round_start + order_.inner));
    if (rounds_done > 0) add(at(places_.outer_sent), at(places_.outer_arriving));
}

void RingKvGrad::wait_for_hops() {
    buffers_.streams.wait_exposed(*buffers_.hops_over, buffers_.exposed.backward);
}

KvGradBlock RingKvGrad::next() {
    RM_CHECK(position_ < order_.num_blocks(), "block {} of a ring of {}", position_,
             order_.num_blocks());
    if (position_ == 0 && order_.num_blocks() > 1) {
        wait_for_hops();
        start_hops();
    }
    ops_(FillZero{at(places_.share)});
    const KeyValueRows grads = key_value(at(places_.share));
    return {block(order_.backward(position_)), grads.k, grads.v};
}

// Adds the sum of the previous ranks to this rank's share and, at the end of a round, the sum of
// the previous rounds.
void RingKvGrad::add_what_arrived() {
    if (place_in_round() > 0) ops_(Add{at(places_.arriving), at(places_.share)});
    if (ends_round() && position_ >= order_.inner) {
        ops_(Add{at(places_.outer_arriving), at(places_.share)});
    }
}

// The share is sent next; the buffer sent last receives; the one that arrived takes the next share.
void RingKvGrad::pass_on() {
    if (ends_round()) return std::swap(places_.outer_sent, places_.share);
    const Places before = places_;
    places_.sent = before.share;
    places_.arriving = before.sent;
    places_.share = before.arriving;
}

void RingKvGrad::done() {
    const bool last = position_ + 1 == order_.num_blocks();
    // If only outer-ring parts moved, compute does not need them yet.
    const bool inner_moved =
        place_in_round() > 0 || (!last && order_.step(order_.backward(position_ + 1)) > 0);
    if (inner_moved) wait_for_hops();
    add_what_arrived();
    if (!last) pass_on();
    ++position_;
    if (last) return;
    buffers_.streams.order.follow(buffers_.streams.communication, ops_.stream(), *buffers_.summed);
    start_hops();
}

KvGradStream::Gradients RingKvGrad::finish() {
    RM_CHECK(position_ == order_.num_blocks(), "finished after {} of {} blocks", position_,
             order_.num_blocks());
    Gradients gradients{std::move(sums_[places_.share]), {}, {}};
    const KeyValueRows rows = key_value(gradients.both);
    gradients.d_k = TokenStore(rows.k);
    gradients.d_v = TokenStore(rows.v);
    return gradients;
}

}  // namespace rm
