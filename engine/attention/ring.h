#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/attention/kv_stream.h"
#include "engine/comm/communicator.h"
#include "engine/streams/ops.h"
#include "engine/windows/rank_layout.h"

namespace rm {

// The rings of all layers of a stage use it in turn: events, the streams that move travelling rows
// when they lie on the host, and the sizes of their stores. S is the tokens of a ring slot, Hk the
// key-value heads of this rank.
class RingBuffers {
public:
    // Borrows all.
    RingBuffers(const RankStreams& streams, StepMemory& memory, const RankLayout& layout,
                std::int64_t num_kv_heads, std::int64_t head_dim);
    RingBuffers(const RingBuffers&) = delete;
    RingBuffers& operator=(const RingBuffers&) = delete;
    ~RingBuffers();

    struct Events {
        std::unique_ptr<Event> arrived;
        std::unique_ptr<Event> consumed;
    };
    // The events of a block that is not this rank's own.
    Events& events(int block) { return events_[place(block)]; }
    // Blocks of other ranks take turns in at most four places: within a round, step s uses
    // (s - 1) mod 2; the first block of round o uses 2 + (o - 1) mod 2.
    std::size_t place(int block) const;
    using Places = std::array<KeyValue, 4>;  // (S, Hk, D) compute
    Places make_places() const;
    KeyValue make_sum() const;                        // (S, Hk, D) accum
    KeyValue make_blocks(std::int64_t blocks) const;  // (blocks S, Hk, D) compute

    GroupKey inner_key() const { return order.is_double() ? GroupKey::ring_inner : GroupKey::ring; }
    bool on_host() const { return layout.in_windows(); }
    // Attention works on so many rows at a time: a chunk, or a block.
    std::int64_t most_rows() const {
        return on_host() ? layout.max_slot_chunk : layout.slot_tokens;
    }
    // Communication works on the windows.
    WindowStreams hop_streams() const;

    const RankStreams streams;
    StepMemory& memory;
    const RankLayout& layout;
    const RingOrder order;
    std::unique_ptr<Event> own_ready;  // compute has made this rank's keys and values
    std::unique_ptr<Event> summed;     // the events of a backward pass
    std::unique_ptr<Event> hops_over;
    LayerPassTimers exposed;  // compute waiting for a hop

private:
    KeyValue make(std::string_view k, std::string_view v, DType dtype, std::int64_t rows) const;

    std::int64_t num_kv_heads_;
    std::int64_t head_dim_;
    std::array<Events, 4> events_;
    std::unique_ptr<Stream> up_;  // null: nothing travels from or to the host
    std::unique_ptr<Stream> down_;
};

// Their keys, or values, for a window on all of them.
std::vector<TokenStore*> keys_of(const std::vector<KeyValue*>& stores);
std::vector<TokenStore*> values_of(const std::vector<KeyValue*>& stores);

// Rows of the keys and values in one of several stores.
struct HopPlace {
    std::size_t store = 0;
    TokenRange rows;
};
// One hop of a ring: rows go out while others come in.
struct HopMove {
    HopPlace out;
    HopPlace in;
};

// A sequence of hops round one ring, between stores of the same shape that may lie on the host.
class Hops {
public:
    using Shifts = std::vector<Communicator::Shift>;
    // Borrows all but `moves`.
    Hops(RingBuffers& buffers, GroupKey ring, const std::vector<KeyValue*>& stores,
         std::vector<HopMove> moves);

    // Opens the next move's rows and adds its shifts; they may be sent together with others.
    void open(Shifts& shifts);
    void close();

private:
    GroupKey ring_;
    std::vector<HopMove> moves_;
    TokenWindow out_k_, out_v_, in_k_, in_v_;
    WindowGroup windows_;
    std::size_t next_ = 0;
};

// Own block first, then those of the slots behind. Within a round blocks move one hop per step
// along the inner ring. Meanwhile the block that this rank started the round with moves one hop
// along the outer ring, a part beside each step: it starts the next rank's next round, so the slow
// hop has a whole round to hide in. Every rank sees every block exactly once. With one rank the
// keys and values are resident and nothing moves.
class RingKv final : public KvStream {
public:
    // `own`: this rank's, on the device. Borrows all.
    RingKv(RingBuffers& buffers, const Ops& ops, KeyValue& own, const SequenceRuns& runs);
    std::size_t num_blocks(std::size_t /*group*/) const override {
        return usize(order_.num_blocks());
    }
    KvBlock next() override;
    void done() override;

private:
    KeyValue& store(int block) { return block == 0 ? own_ : places_[buffers_.place(block)]; }
    void move_on();
    void wait_until_free(int block);
    void start_hops();

    RingBuffers& buffers_;
    const RingOrder& order_;
    const Ops& ops_;
    KeyValue& own_;
    const SequenceRuns& runs_;
    RingBuffers::Places places_;
    Hops inner_, outer_;
    std::array<bool, 4> is_used_{};  // by place
    int block_ = 0;
};

}  // namespace rm
