#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/layout.h"
#include "engine/comm/communicator.h"
#include "engine/model/ops.h"
#include "engine/model/stream_timer.h"

namespace rm {

// Keys and values with the runs that say which tokens they are.
struct KvBlock {
    TensorView k;  // (S, Hk, D) compute
    TensorView v;  // (S, Hk, D) compute
    std::span<const Run> runs;
};
// The same with where this block's gradients are summed.
struct KvGradBlock {
    KvBlock kv;
    TensorView d_k;  // (S, Hk, D) accum
    TensorView d_v;  // (S, Hk, D) accum
};

// A source of key-value blocks, always one block ahead of the compute. Per block: next(), queue
// compute, done(). Work queued on the compute stream after next() sees the block; done() lets it be
// replaced.
class KvStream {
public:
    virtual ~KvStream() = default;
    virtual int num_blocks() const = 0;
    virtual KvBlock next() = 0;
    virtual void done() = 0;
};

// The backward pass: blocks come in the order of the forward pass, and with each the place where
// its gradients are summed. finish() gives this rank's own, complete.
class KvGradStream {
public:
    virtual ~KvGradStream() = default;
    virtual int num_blocks() const = 0;
    virtual KvGradBlock next() = 0;
    virtual void done() = 0;
    virtual TensorView finish() = 0;  // (2T, Hk, D) accum: d_k rows, then d_v rows
};

// Buffers and events of the ring, used by every layer in turn; made once per stage.
class RingBuffers {
public:
    RingBuffers(Kernels& kernels, Communicator& communicator, Stream& communication,
                std::int64_t local_tokens, std::int64_t num_kv_heads, std::int64_t head_dim);

    std::array<Tensor, 2> kv;      // (2T, Hk, D) compute: blocks of other ranks; empty for R = 1
    std::array<Tensor, 2> travel;  // (2T, Hk, D) accum: gradient sums on their way home
    Tensor local;                  // (2T, Hk, D) accum: this rank's share for a foreign block
    std::unique_ptr<Event> own_ready;  // compute has made this rank's keys and values
    std::array<std::unique_ptr<Event>, 2> kv_arrived;
    std::array<std::unique_ptr<Event>, 2> kv_consumed;
    std::unique_ptr<Event> travel_summed;
    std::array<std::unique_ptr<Event>, 2> travel_arrived;
    Communicator& communicator;
    Stream& communication;
    StreamTimer exposed;  // compute waiting for a hop
};

// Blocks move one hop per step towards the next rank, so after R - 1 hops every rank has seen every
// block exactly once. Own block first, then that of the previous rank, and so on. With R = 1 it is
// resident keys and values and moves nothing.
class RingKv final : public KvStream {
public:
    // `own`: (2T, Hk, D) compute, key rows then value rows. `slot_runs`: runs of every ring slot.
    RingKv(RingBuffers& buffers, const Ops& ops, const TensorView& own,
           const std::vector<std::vector<Run>>& slot_runs);
    int num_blocks() const override { return ring_.size(); }
    KvBlock next() override;
    void done() override;

private:
    TensorView block(int step) const;
    void start_hop(int step);

    RingBuffers& buffers_;
    const Ops& ops_;
    TensorView own_;
    const std::vector<std::vector<Run>>& slot_runs_;
    const Group& ring_;
    int step_ = 0;
};

// A block's gradients travel with it: each rank adds its share and sends the sum on, so block b is
// summed in ring order from rank b and is home after R hops. A share is computed while the sum is
// still on its way, then added.
class RingKvGrad final : public KvGradStream {
public:
    RingKvGrad(RingBuffers& buffers, const Ops& ops, const TensorView& own,
               const std::vector<std::vector<Run>>& slot_runs);
    int num_blocks() const override { return kv_.num_blocks(); }
    KvGradBlock next() override;
    void done() override;
    TensorView finish() override;

private:
    void wait_for_travel();

    RingBuffers& buffers_;
    const Ops& ops_;
    RingKv kv_;
    int step_ = 0;
    int current_ = 0;  // the travel buffer of this step's block
};

}  // namespace rm
