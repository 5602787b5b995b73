#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/layout.h"
#include "engine/comm/communicator.h"
#include "engine/streams/ops.h"
#include "engine/windows/token_store.h"

namespace rm {

// Queries, keys and values of N tokens (T with all heads, or S with a share of them), rotated; or
// gradients of them.
struct QueryKeyValue {
    TokenStore q;   // (N, heads, D)
    TokenStore kv;  // (2N, heads, D): keys, then values; empty where they lie apart
    TokenStore k;   // (N, heads, D), of kv or its own
    TokenStore v;   // likewise
};

// Keys and values with the runs that say which tokens they are.
struct KvBlock {
    TensorView k;  // (S, Hk, D) compute
    TensorView v;  // (S, Hk, D) compute
    std::span<const Run> runs;
};
// A block with the sums of its gradients.
struct KvGradBlock {
    KvBlock kv;
    TensorView d_k;  // (S, Hk, D) accum
    TensorView d_v;  // (S, Hk, D) accum
};

// A source of key-value blocks, always one block ahead of the compute. Per block: next(), queue
// compute, done(). Work queued on the compute stream after next() sees the block; done() lets it be
// replaced. Every QueryGroup gets its own blocks, the groups in order.
class KvStream {
public:
    virtual ~KvStream() = default;
    virtual int num_blocks(std::size_t group) const = 0;
    virtual KvBlock next() = 0;
    virtual void done() = 0;
};

// The same for the backward pass: a block brings the place for this rank's share of its gradients.
// finish() returns the complete gradients of this rank's own keys and values.
class KvGradStream {
public:
    virtual ~KvGradStream() = default;
    virtual int num_blocks(std::size_t group) const = 0;
    virtual KvGradBlock next() = 0;
    virtual void done() = 0;
    struct Gradients {
        ArenaTensor both;  // (2S, Hk, D) accum: d_k rows, then d_v rows; none where they lie apart
        TokenStore d_k;    // (S, Hk, D) accum
        TokenStore d_v;
    };
    virtual Gradients finish() = 0;
};

// The order in which the blocks of all ring slots pass a rank: `outer` rounds of `inner` steps.
// Round o covers the slots of the node o places behind on the outer ring, and its step i the slot i
// places behind on the inner one. Without a double ring, one round covers the whole ring.
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

// The events, made once per stage, and the buffer sizes that every layer's ring uses in turn. S is
// the tokens of a ring slot, Hk the key-value heads of this rank.
class RingBuffers {
public:
    RingBuffers(const RankStreams& streams, StepMemory& memory, std::int64_t slot_tokens,
                std::int64_t num_kv_heads, std::int64_t head_dim);

    struct Events {
        std::unique_ptr<Event> arrived;
        std::unique_ptr<Event> consumed;
    };
    // The events of a block that is not this rank's own.
    Events& events(int block) { return events_[place(block)]; }
    // Blocks of other ranks take turns in at most four places: within a round, step s uses
    // (s - 1) mod 2; the first block of round o uses 2 + (o - 1) mod 2.
    std::size_t place(int block) const;
    using Blocks = std::array<ArenaTensor, 4>;  // (2S, Hk, D) compute
    Blocks make_blocks() const;
    ArenaTensor make_sum() const;  // (2S, Hk, D) accum

    const RankStreams streams;
    const RingOrder order;
    std::unique_ptr<Event> own_ready;  // compute has made this rank's keys and values
    std::unique_ptr<Event> summed;     // the events of a backward pass
    std::unique_ptr<Event> hops_over;
    LayerPassTimers exposed;  // compute waiting for a hop

private:
    ArenaTensor make(std::string_view what, DType dtype) const;

    StepMemory& memory_;
    std::int64_t rows_;
    std::int64_t num_kv_heads_;
    std::int64_t head_dim_;
    std::array<Events, 4> events_;
};

// The blocks of a layer that travel round the ring, and their places on this rank.
class RingBlocks {
protected:
    // `own`: (2S, Hk, D) compute, key rows then value rows. `slot_runs`: runs of every ring slot.
    // Borrows all.
    RingBlocks(RingBuffers& buffers, const Ops& ops, const TensorView& own,
               const std::vector<std::vector<Run>>& slot_runs)
        : buffers_(buffers),
          order_(buffers.order),
          ops_(ops),
          own_(own),
          slot_runs_(slot_runs),
          blocks_(buffers.make_blocks()) {}
    TensorView view(int block) const;
    KvBlock block(int block) const;  // with the runs of its slot

    RingBuffers& buffers_;
    const RingOrder& order_;
    const Ops& ops_;
    TensorView own_;
    const std::vector<std::vector<Run>>& slot_runs_;
    RingBuffers::Blocks blocks_;
};

// Own block first, then those of the slots behind. Within a round blocks move one hop per step
// along the inner ring. Meanwhile the block that this rank started the round with moves one hop
// along the outer ring, a part beside each step: it starts the next rank's next round, so the slow
// hop has a whole round to hide in. Every rank sees every block exactly once. With one rank the
// keys and values are resident and nothing moves.
class RingKv final : public KvStream, private RingBlocks {
public:
    RingKv(RingBuffers& buffers, const Ops& ops, const TensorView& own,
           const std::vector<std::vector<Run>>& slot_runs);
    int num_blocks(std::size_t /*group*/) const override { return order_.num_blocks(); }
    KvBlock next() override;
    void done() override;

private:
    void move_on();
    void wait_until_free(int block);
    void start_hops();

    std::array<bool, 4> is_used_{};  // by place
    int block_ = 0;
};

// Every foreign block first, the own one last: its compute hides the last hop home. The constructor
// starts the first hop, as the keys and values have been there since the forward pass: construct it
// before you queue the work that leads to attention's backward pass.
//
// A block's gradients travel behind it. Within a round, the sum starts at the rank after
// the one that brought the block in; each rank of the inner ring adds its share and passes the sum
// on; the rank that brought the block in adds the last share. The rounds' sums are added in order
// and move one hop along the outer ring per round, in parts beside its steps, until they are home.
// Each rank computes its share while the sum is in flight; meanwhile all transfers run at once.
class RingKvGrad final : public KvGradStream, private RingBlocks {
public:
    RingKvGrad(RingBuffers& buffers, const Ops& ops, const TensorView& own,
               const std::vector<std::vector<Run>>& slot_runs);
    int num_blocks(std::size_t /*group*/) const override { return order_.num_blocks(); }
    KvGradBlock next() override;
    void done() override;
    Gradients finish() override;

private:
    // Indices into sums_: the buffers swap roles instead of being copied.
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
    const TensorView& at(std::size_t place) const { return sums_[place].view(); }
    void start_first_hops();
    void start_hops();
    void add_outer_hops(Shifts& shifts) const;
    void wait_for_hops();
    void add_what_arrived();
    void pass_on();

    std::array<ArenaTensor, 5> sums_;  // of gradients
    Places places_;
    int position_ = 0;  // number of finished blocks
};

}  // namespace rm
