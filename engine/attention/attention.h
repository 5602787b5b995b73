#pragma once

#include <memory>
#include <optional>

#include "engine/attention/cached_attention.h"
#include "engine/attention/head_exchange.h"
#include "engine/attention/kv_gradients.h"
#include "engine/attention/ring.h"
#include "spec/precision/attention_numbers.h"

namespace rm {

struct AttentionRounding {
    AttentionNumbers products = AttentionNumbers::compute;
    MessageNumbers heads = MessageNumbers::compute;  // that travel
};

// Causal attention over the S tokens of a ring slot, with this rank's share of the heads: runs the
// ring, and streams what lies on the host. A HeadExchange brings tokens there and back. Calls only
// queue work.
class Attention {
public:
    // Borrows all. `ops` are the compute stream's; `timers` measure attention, including its waits
    // for other ranks.
    Attention(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
              const RankLayout& layout, const RankShapes& shapes, AttentionRounding rounding,
              CacheLink cache, const Ops& ops, LayerPassTimers& timers);

    // For the S tokens, (S, attended_q, D) and (S, attended_kv, D) compute; the caller fills them
    // in.
    QueryKeyValue make_inputs(int layer);

    struct Output {
        TokenStore out;  // (S, attended_q, D) compute
        TokenStore lse;  // (S, attended_q) accum
    };
    // The time counts for `pass`: the backward pass may repeat attention.
    Output forward(const SequenceRuns& runs, int layer, QueryKeyValue& attended, LayerPass pass);

    HeadExchange& heads() { return heads_; }
    LayerPassTimers& ring_exposed() { return ring_.exposed; }
    StreamTimer& heads_exposed() { return heads_.exposed(); }

private:
    friend class AttentionBackward;
    class Section;

    // Makes a window over the query groups.
    TokenWindow group_window(const SequenceRuns& runs, TokenStore& store, RowAccess access);
    std::unique_ptr<KvStream> key_values(const SequenceRuns& runs, KeyValue& own);
    void merge(const AttentionFwd& op) const;
    void differentiate(const AttentionBwd& op) const;
    void attend(const SequenceRuns& runs, QueryKeyValue& attended, Output& to, LayerPass pass);

    StepMemory& memory_;
    const RankLayout& layout_;
    const RankShapes& shapes_;
    AttentionNumbers numbers_;
    const Ops& ops_;
    LayerPassTimers& timers_;
    HeadExchange heads_;
    RingBuffers ring_;
    CacheLink cache_;
    std::optional<CachedAttention> cached_;  // where the cache is extended
    double scale_;
};

// The inputs of attention's backward pass besides queries, keys and values.
struct OutGradients {
    TokenStore d_out;  // (S, attended_q, D) compute
    TokenStore delta;  // (S, attended_q) accum
};

// Gradients of what attention works on.
struct AttendedGradients {
    TokenStore d_q;  // (S, attended_q, D) accum
    KeyValue d_kv;   // (S, attended_kv, D) accum
};

// Attends in one layer's backward pass. The constructor starts the first hop: construct it before
// you queue the work that yields the gradients of attention's output.
class AttentionBackward {
public:
    // Borrows all but `attended`.
    AttentionBackward(Attention& attention, const SequenceRuns& runs, QueryKeyValue attended,
                      TokenStore& lse);
    AttentionBackward(const AttentionBackward&) = delete;
    AttentionBackward& operator=(const AttentionBackward&) = delete;

    // The caller fills them in.
    OutGradients make_out_gradients();
    AttendedGradients finish(OutGradients gradients);

private:
    TokenWindow query_window(TokenStore& store, RowAccess first, RowAccess later);
    void attend(OutGradients& gradients, TokenStore& d_q_store);

    Attention& a_;
    const SequenceRuns& runs_;
    QueryKeyValue attended_;
    TokenStore& lse_;
    std::unique_ptr<KvGradients> kv_;
};

}  // namespace rm
