#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "engine/streams/ops.h"
#include "engine/windows/rank_layout.h"
#include "engine/windows/tile_task.h"
#include "engine/windows/token_store.h"
#include "spec/precision/message_numbers.h"

namespace rm {

struct AttendedRows;

// Ulysses (Jacobs et al., DeepSpeed-Ulysses): all-to-alls between the ranks of a ulysses group
// trade tokens for heads, so that attention sees all S tokens of the ring slot with a share of the
// heads, and back. They go tile by tile, while compute works on other tiles: the same tile of every
// rank together is a range of the slot. If several ranks need a key-value head, each gets a copy,
// and this rank sums the gradients that they return, in rank order, in the accumulation type. Heads
// and their gradients may travel as codes; what stays on this rank is not rounded.
//
// If the group has one rank and attention uses the projected heads unchanged, both sides are the
// same and callers skip the exchange.
class HeadExchange {
public:
    // Borrows all.
    HeadExchange(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
                 const RankLayout& layout, const RankShapes& shapes, MessageNumbers numbers);

    // Both sides are the same.
    bool direct() const { return layout_.ulysses == 1 && same_kv_heads_; }
    StreamTimer& exposed() { return exposed_; }

    // Consecutive heads of this rank's tokens that a ulysses rank attends with.
    struct HeadRun {
        std::int64_t here = 0;      // the first one among the heads of the tokens
        std::int64_t attended = 0;  // and among those of that rank's attention
        std::int64_t count = 0;
    };
    using HeadRuns = std::vector<std::vector<HeadRun>>;  // by ulysses rank
    const HeadRuns& queries() const { return queries_; }
    const HeadRuns& keys() const { return kv_; }

private:
    friend class TilesToHeads;
    friend class TilesToTokens;

    int size() const { return layout_.ulysses; }
    bool moves() const { return size() > 1; }
    TensorView block(const TensorView& blocks, int rank) const;
    void scatter(const Ops& ops, const HeadRuns& runs, const TensorView& tokens,
                 const TensorView& send, const TensorView& own) const;
    void gather(const Ops& ops, const HeadRuns& runs, const TensorView& own,
                const TensorView& received, const TensorView& tokens, Into into) const;
    TokenWindow window(TokenStore& attended, RowAccess access, int open_at_once) const;
    ArenaTensor blocks(const TokenStore& attended, DType dtype) const;

    // A tile's blocks, (rows heads, words) i32 (see PackRows); empty where numbers travel.
    struct Codes {
        ArenaTensor out, in;
        bool empty() const { return out.empty(); }
    };
    bool rounds(const TokenStore& attended) const;
    bool rounds_any(std::initializer_list<AttendedRows> tensors) const;
    Codes codes(const TokenStore& attended) const;
    // Both work on the blocks of other ranks, (rows, heads, D).
    void round(const Ops& ops, const TensorView& blocks, const ArenaTensor& codes) const;
    void restore(const Ops& ops, const ArenaTensor& codes, const TensorView& blocks) const;
    template <typename Fn>
    void for_others(const TensorView& blocks, const TensorView& codes, Fn fn) const;
    // Queues what brings every rank its blocks: codes, if there are any.
    void trade(const TensorView& outgoing, const TensorView& incoming, const Codes& codes) const;
    void wait_for(const StreamOrder::Mark& sent);

    const RankStreams streams_;
    StepMemory& memory_;
    const RankLayout& layout_;
    std::int64_t max_tile_;
    MessageNumbers numbers_;
    bool same_kv_heads_ = true;
    HeadRuns queries_, kv_;
    std::array<std::unique_ptr<Event>, 2> ready_, arrived_;  // by turn or lane
    StreamTimer exposed_;
};

// A tensor as attention sees it, (S, heads, D) or (S, heads), and its heads.
struct AttendedRows {
    TokenStore* store;
    const HeadExchange::HeadRuns& heads;
};

// One loop over tiles whose rows go to attention. Borrows all.
class TilesToHeads {
public:
    TilesToHeads(HeadExchange& exchange, std::initializer_list<AttendedRows> tensors);
    TilesToHeads(const TilesToHeads&) = delete;
    TilesToHeads& operator=(const TilesToHeads&) = delete;
    ~TilesToHeads();

    // The tile's rows of every tensor, (tile, heads, D) or (tile, heads). Compute need not wait.
    void send(const Ops& ops, const Tile& tile, std::initializer_list<TensorView> rows);
    // After the last tile: compute reads next what has not been stored on the host.
    void finish(const Ops& ops);

private:
    struct Tensor {
        const HeadExchange::HeadRuns& heads;
        TokenWindow window;
        std::array<ArenaTensor, 2> outgoing;  // blocks, in turn; the first alone if codes travel
        std::array<HeadExchange::Codes, 2> codes;  // in turn

        TensorView blocks(std::size_t turn, std::int64_t rows) const {
            return outgoing[codes[0].empty() ? turn : 0]->rows(0, rows);
        }
    };
    WindowStreams streams() const;
    void scatter(const Ops& ops, const TokenRange& range, std::initializer_list<TensorView> rows);
    void trade(const TokenRange& range);
    void restore(const Ops& ops);

    HeadExchange& exchange_;
    bool rounds_;  // some tensor
    std::deque<Tensor> tensors_;
    WindowGroup windows_;
    std::size_t num_sent_ = 0;
    std::array<StreamOrder::Mark, 2> sent_;
    TokenRange sent_last_;  // with codes: its window is open until compute has restored it
};

// One loop over tiles whose rows come back from attention. Borrows all.
class TilesToTokens {
public:
    // `type`: of what travels. Rows of other types are converted first.
    TilesToTokens(HeadExchange& exchange, std::initializer_list<AttendedRows> tensors,
                  std::initializer_list<DType> types);
    TilesToTokens(const TilesToTokens&) = delete;
    TilesToTokens& operator=(const TilesToTokens&) = delete;

    // Await it before take() for the same tile.
    auto receive(const Ops& ops, const Tile& tile) {
        start(ops, tile);
        return Arrival(exchange_.moves(), [this, tile] { arrive(tile); });
    }
    // Brings a tensor's rows of the tile together. `into` add: sums of replicated heads.
    void take(const Ops& ops, const Tile& tile, std::size_t tensor, const TensorView& rows,
              Into into);
    // All tensors of the tile have been taken.
    void done(const Tile& tile);

private:
    struct Tensor {
        const HeadExchange::HeadRuns& heads;
        TokenWindow window;
        DType type;
        std::array<ArenaTensor, 2> converted;  // by lane; empty where the window's rows do
        std::array<ArenaTensor, 2> received;   // likewise; the first alone if codes travel
        std::array<HeadExchange::Codes, 2> codes;

        bool rounds() const { return !codes[0].empty(); }
    };
    void add(const AttendedRows& tensor, DType type);
    void start(const Ops& ops, const Tile& tile);
    void arrive(const Tile& tile);
    TensorView outgoing(const Tensor& tensor, const Tile& tile) const;
    TensorView received(const Tensor& tensor, const Tile& tile) const;

    WindowStreams streams(bool converts) const;

    HeadExchange& exchange_;
    std::deque<Tensor> tensors_;
    bool converts_;
    WindowGroup windows_;
    // By lane: compute has made what travels, and taken what arrived in the lane before.
    std::array<StreamOrder::Mark, 2> free_;
};

}  // namespace rm
