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

// The backward pass: a block comes with the place where this rank's share of its gradients is
// formed. finish() gives the gradients of this rank's own block, complete.
class KvGradStream {
public:
    virtual ~KvGradStream() = default;
    virtual int num_blocks() const = 0;
    virtual KvGradBlock next() = 0;
    virtual void done() = 0;
    virtual TensorView finish() = 0;  // (2S, Hk, D) accum: d_k rows, then d_v rows
};

// The order in which the blocks of all ring slots come by a rank: `outer` rounds of `inner` steps.
// Round o is over the slots of the node that is o places behind on the outer ring, step i of it
// over the slot i places behind on the inner one. Where the mesh has no double ring there is one
// round, over the whole ring.
struct RingOrder {
    explicit RingOrder(const Communicator& communicator);

    int num_blocks() const { return inner * outer; }
    int round(int block) const { return block / inner; }
    int step(int block) const { return block % inner; }
    std::size_t slot(int block) const;
    // The n-th block of a backward pass. The round of the own node comes last, and in each round
    // the block that starts it.
    int backward(int n) const;

    GroupKey inner_key = GroupKey::ring;
    int inner = 1;
    int outer = 1;
    int inner_index = 0;
    int outer_index = 0;
};

// Buffers and events of the ring, used by every layer in turn; made once per stage. S tokens of a
// ring slot, Hk key-value heads of this rank.
class RingBuffers {
public:
    RingBuffers(Kernels& kernels, Communicator& communicator, Stream& communication,
                std::int64_t slot_tokens, std::int64_t num_kv_heads, std::int64_t head_dim);

    struct Foreign {
        Tensor block;  // (2S, Hk, D) compute
        std::unique_ptr<Event> arrived;
        std::unique_ptr<Event> consumed;
    };
    // Where a block lies that is not this rank's own.
    Foreign& foreign(int block);

    Communicator& communicator;
    Stream& communication;
    const RingOrder order;
    std::array<Foreign, 2> passing;    // within a round: step s in (s - 1) mod 2
    std::array<Foreign, 2> starting;   // first of a round: round o in (o - 1) mod 2
    std::unique_ptr<Event> own_ready;  // compute has made this rank's keys and values
    std::array<Tensor, 5> sums;        // (2S, Hk, D) accum: of gradients, see RingKvGrad
    std::unique_ptr<Event> summed;     // the events of a backward pass
    std::unique_ptr<Event> hops_over;
    PassTimers exposed;  // compute waiting for a hop
};

// Own block first, then those of the slots behind. Within a round blocks move one hop per step
// along the inner ring. Meanwhile the block that this rank started the round with moves one hop
// along the outer ring, a part beside each step: it starts the next rank's next round, so the slow
// hop has a whole round to hide in. Every rank sees every block exactly once. With one rank it is
// resident keys and values and moves nothing.
class RingKv final : public KvStream {
public:
    // `own`: (2S, Hk, D) compute, key rows then value rows. `slot_runs`: runs of every ring slot.
    RingKv(RingBuffers& buffers, const Ops& ops, const TensorView& own,
           const std::vector<std::vector<Run>>& slot_runs);
    int num_blocks() const override { return order_.num_blocks(); }
    KvBlock next() override;
    void done() override;

private:
    TensorView view(int block) const;
    void move_on();
    void start_hops();

    RingBuffers& buffers_;
    const RingOrder& order_;
    const Ops& ops_;
    TensorView own_;
    const std::vector<std::vector<Run>>& slot_runs_;
    int block_ = 0;
};

// Every foreign block first, the own one last: while that is computed the last hop comes home. The
// first hop starts when this is made, as the keys and values have been there since the forward
// pass: make it before the work that leads to attention's backward pass is queued.
//
// A block's gradients travel behind it. Within a round its sum starts at the rank after the one
// that brought it in; each rank of the inner ring adds its share and passes the sum on, until the
// one that brought it in adds its own. The sums of the rounds are added up in their order and move
// one hop along the outer ring per round, in parts beside its steps, until they are home. A share
// is computed while the sum is still on its way; all that moves meanwhile moves at once.
class RingKvGrad final : public KvGradStream {
public:
    RingKvGrad(RingBuffers& buffers, const Ops& ops, const TensorView& own,
               const std::vector<std::vector<Run>>& slot_runs);
    int num_blocks() const override { return order_.num_blocks(); }
    KvGradBlock next() override;
    void done() override;
    TensorView finish() override;

private:
    // Which of the buffers of sums: they change places instead of being copied.
    struct Places {
        std::size_t share = 0;     // this rank's part of the current block's
        std::size_t sent = 1;      // on its way along the inner ring
        std::size_t arriving = 2;  // from the inner ring
        std::size_t outer_sent = 3;
        std::size_t outer_arriving = 4;
    };
    using Shifts = std::vector<Communicator::Shift>;

    int place_in_round() const { return position_ % order_.inner; }
    bool ends_round() const { return place_in_round() + 1 == order_.inner; }
    const TensorView& at(std::size_t place) const { return buffers_.sums[place]; }
    TensorView view(int block) const;
    void start_first_hops();
    void start_hops();
    void add_outer_hops(Shifts& shifts) const;
    void wait_for_hops();
    void add_what_arrived();
    void pass_on();

    RingBuffers& buffers_;
    const RingOrder& order_;
    const Ops& ops_;
    TensorView own_;
    const std::vector<std::vector<Run>>& slot_runs_;
    Places places_;
    int position_ = 0;  // blocks that are done
};

}  // namespace rm
