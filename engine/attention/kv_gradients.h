#pragma once

#include <array>
#include <utility>
#include <vector>

#include "engine/attention/ring.h"

namespace rm {

// The key-value chunks of attention's backward pass, each with the place for this rank's share of
// its gradients: every foreign block first, the own one last: its compute hides the last hop home.
// The constructor starts the first hop, as the keys and values have been there since the forward
// pass: construct it before you queue the work that leads to attention's backward pass.
//
// A block's gradients travel behind it. Within a round, the sum starts at the rank after
// the one that brought the block in; each rank of the inner ring adds its share and passes the sum
// on; the rank that brought the block in adds the last share. The rounds' sums are added in order
// and move one hop along the outer ring per round, in parts beside its steps, until they are home.
// Each rank computes its share while the sum is in flight; meanwhile all transfers run at once.
//
// In windows, blocks and sums are on the host and travel chunk by chunk. Otherwise a block is one
// chunk, on the device. A sum that arrives for a chunk is needed a block's time later, so ranks
// need not keep pace from chunk to chunk.
class KvGradients {
public:
    // Borrows all. Per chunk: next(), queue compute, done(); then finish().
    KvGradients(RingBuffers& buffers, const Ops& ops, KeyValue& own, const SequenceRuns& runs);
    KvGradients(const KvGradients&) = delete;
    KvGradients& operator=(const KvGradients&) = delete;

    std::size_t num_chunks() const { return num_positions() * chunks_; }
    KvGradBlock next();
    void done();
    // The complete gradients of this rank's own keys and values, (S, Hk, D) accum. The windows that
    // this object has on them are not used again.
    KeyValue finish();

private:
    // Indices into sums_: the stores swap roles from position to position.
    struct Roles {
        std::size_t share = 0;     // this rank's part of the current block's
        std::size_t sent = 1;      // on its way along the inner ring
        std::size_t arriving = 2;  // from the inner ring
        std::size_t outer_sent = 3;
        std::size_t outer_arriving = 4;
    };
    // Windows of compute on pairs of stores.
    struct Windows {
        Windows(StepMemory& memory, const std::vector<KeyValue*>& stores,
                const std::vector<Visit>& visits, std::int64_t most_rows, std::size_t first_limit);
        void limit(std::size_t visits);
        TokenWindow k, v;
        WindowGroup group;
    };

    std::size_t num_positions() const { return usize(order_.num_blocks()); }
    int position() const { return static_cast<int>(chunk_ / chunks_); }
    std::size_t chunk_in_block() const { return chunk_ % chunks_; }
    int place_in_round(int position) const { return position % order_.inner; }
    bool ends_round(int position) const { return place_in_round(position) + 1 == order_.inner; }
    bool adds_inner(int position) const { return place_in_round(position) > 0; }
    bool adds_outer(int position) const { return ends_round(position) && position >= order_.inner; }
    // Whether the hops of a position bring a block along the inner ring.
    bool brings(int position) const {
        return position + 1 < order_.num_blocks() && order_.step(order_.backward(position + 1)) > 0;
    }
    std::vector<Roles> roles() const;
    std::vector<KeyValue*> block_stores();
    std::vector<KeyValue*> sum_stores();
    std::size_t store_of(int block) const { return block == 0 ? 0 : 1 + buffers_.place(block); }
    TokenRange rows(int block, std::size_t chunk) const;
    std::vector<TokenRange> outer_parts(int position, int block) const;
    template <typename Wanted, typename Store>
    std::vector<Visit> visits(RowAccess access, Wanted wanted, Store store) const;
    std::vector<HopMove> block_moves() const;
    std::vector<HopMove> outer_block_moves() const;
    std::vector<HopMove> sum_moves() const;
    std::vector<HopMove> outer_sum_moves() const;
    void send(std::vector<std::pair<Hops*, std::size_t>> counts);
    void send_sum();
    void start_first_hops();
    void start_hops(int position, std::size_t sums);
    void wait_for_hops();
    void add(Windows& arrived);

    RingBuffers& buffers_;
    const RingOrder& order_;
    const Ops& ops_;
    KeyValue& own_;
    const SequenceRuns& runs_;
    const std::size_t chunks_;        // of a block
    const std::vector<Roles> roles_;  // by position
    RingBuffers::Places places_;
    std::array<KeyValue, 5> sums_;
    Hops block_hops_, outer_block_hops_, sum_hops_, outer_sum_hops_;
    Windows blocks_, shares_, arriving_, outer_arriving_;
    std::size_t chunk_ = 0;  // of all blocks
    std::size_t num_sums_sent_ = 0;
};

}  // namespace rm
