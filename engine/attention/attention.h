#pragma once

#include <memory>

#include "engine/attention/head_exchange.h"
#include "engine/attention/kv_stream.h"

namespace rm {

// Causal attention over the S tokens of a ring slot, for a layer that works on the T tokens of this
// rank. Converts between the two: it exchanges heads, runs the ring, and streams keys and values
// that lie on the host. Calls only queue work.
class Attention {
public:
    // Borrows all. `ops` are the compute stream's; `timers` measure attention, including its waits
    // for other ranks.
    Attention(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
              const RankLayout& layout, const RankShapes& shapes, const Ops& ops,
              LayerPassTimers& timers);

    // Makes queries, keys and values of the slot's S tokens. `project` gets the stores of this
    // rank's tokens and fills them in.
    template <typename Project>
    QueryKeyValue inputs(int layer, Project project) {
        QueryKeyValue attended =
            make_inputs(layer, shapes_.S, shapes_.attended_q, shapes_.attended_kv);
        if (heads_.direct()) {
            project(attended);
            return attended;
        }
        QueryKeyValue tokens = make_inputs(layer, shapes_.T, shapes_.Hq, shapes_.Hk);
        project(tokens);
        heads_.project_to_heads(ops_, {tokens.q.whole(), attended.q.whole()},
                                {tokens.kv.whole(), attended.kv.whole()});
        return attended;
    }

    struct Output {
        TokenStore out;  // (T, Hq, D) compute
        TokenStore lse;  // (S, attended_q) accum
    };
    // The time counts for `pass`: the backward pass may repeat attention.
    Output forward(const SequenceRuns& runs, int layer, QueryKeyValue& attended, LayerPass pass);

    LayerPassTimers& ring_exposed() { return ring_.exposed; }
    StreamTimer& heads_exposed() { return heads_.exposed(); }

private:
    friend class AttentionBackward;
    class Section;

    // (tokens, heads, D) compute.
    QueryKeyValue make_inputs(int layer, std::int64_t tokens, std::int64_t query_heads,
                              std::int64_t kv_heads);
    void attend(const SequenceRuns& runs, QueryKeyValue& attended, TokenStore& out, TokenStore& lse,
                LayerPass pass);
    // Makes a window over the query groups.
    TokenWindow group_window(const SequenceRuns& runs, TokenStore& store, RowAccess access);
    std::unique_ptr<KvStream> key_values(const SequenceRuns& runs, QueryKeyValue& attended);

    StepMemory& memory_;
    const RankLayout& layout_;
    const RankShapes& shapes_;
    const Ops& ops_;
    LayerPassTimers& timers_;
    HeadExchange heads_;
    RingBuffers ring_;
    double scale_;
};

// The inputs of attention's backward pass besides queries, keys and values.
struct OutGradients {
    TokenStore d_out;  // (N, heads, D) compute
    TokenStore delta;  // (N, heads) accum
};

// Gradients of the projections, by token.
struct ProjectedGradients {
    TokenStore d_q;  // (T, Hq, D) accum or compute
    KvGradStream::Gradients kv;
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

    // The caller fills them in for the T tokens of this rank.
    OutGradients out_gradients() { return make_out_gradients(a_.shapes_.T, a_.shapes_.Hq); }
    ProjectedGradients finish(OutGradients tokens);

private:
    OutGradients make_out_gradients(std::int64_t tokens, std::int64_t heads);
    OutGradients to_heads(OutGradients tokens);
    ProjectedGradients to_tokens(ProjectedGradients gradients);
    void attend(OutGradients& gradients, TokenStore& d_q_store);

    Attention& a_;
    const SequenceRuns& runs_;
    QueryKeyValue attended_;
    TokenStore& lse_;
    std::unique_ptr<KvGradStream> kv_;
};

}  // namespace rm
