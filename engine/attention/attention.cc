#include "engine/attention/attention.h"

#include <cmath>

#include "engine/attention/host_kv.h"

namespace rm {
namespace {

std::span<const QueryChunk> chunks_of(const SequenceRuns& runs, const QueryGroup& group) {
    return std::span(runs.query_chunks).subspan(group.first_chunk, group.num_chunks);
}

struct StateBuffers {
    StateBuffers(StepMemory& memory, const RankShapes& s, std::int64_t tokens)
        : acc(memory.on_device({"acc"}, memory.types().accum, {tokens, s.attended_q, s.D})),
          m(memory.on_device({"m"}, memory.types().accum, {tokens, s.attended_q})),
          l(memory.on_device({"l"}, memory.types().accum, {tokens, s.attended_q})) {}
    AttentionState first(std::int64_t tokens) const { return rows({0, tokens}); }
    AttentionState rows(const TokenRange& range) const {
        return {at(acc, range), at(m, range), at(l, range)};
    }
    ArenaTensor acc;  // (tokens, attended_q, D) accum
    ArenaTensor m;    // (tokens, attended_q) accum
    ArenaTensor l;    // (tokens, attended_q) accum
};

}  // namespace

// Times its scope as attention.
class Attention::Section {
public:
    Section(Attention& attention, LayerPass pass)
        : memory_(attention.memory_),
          timer_(attention.timers_.of(pass)),
          stream_(attention.ops_.stream()) {
        timer_.begin(stream_);
        memory_.enter_attention();
    }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    ~Section() {
        memory_.leave_attention();
        timer_.end(stream_);
    }

private:
    StepMemory& memory_;
    StreamTimer& timer_;
    Stream& stream_;
};

Attention::Attention(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
                     const RankLayout& layout, const RankShapes& shapes, const Ops& ops,
                     LayerPassTimers& timers)
    : memory_(memory),
      layout_(layout),
      shapes_(shapes),
      ops_(ops),
      timers_(timers),
      heads_(streams, memory, model, layout, shapes),
      ring_(streams, memory, shapes.S, shapes.attended_kv, shapes.D),
      scale_(1 / std::sqrt(static_cast<double>(shapes.D))) {}

QueryKeyValue Attention::make_inputs(int layer, std::int64_t tokens, std::int64_t query_heads,
                                     std::int64_t kv_heads) {
    const auto make = [&](std::string_view what, std::int64_t rows, std::int64_t heads) {
        return working_store(memory_, {what, layer}, memory_.types().compute,
                             {rows, heads, shapes_.D});
    };
    QueryKeyValue made;
    made.q = make("q", tokens, query_heads);
    if (layout_.memory.working == WorkingSet::windows) {
        made.k = make("k", tokens, kv_heads);
        made.v = make("v", tokens, kv_heads);
        return made;
    }
    made.kv = make("kv", 2 * tokens, kv_heads);
    const KeyValueRows rows = key_value(made.kv.whole());
    made.k = TokenStore(rows.k);
    made.v = TokenStore(rows.v);
    return made;
}

TokenWindow Attention::group_window(const SequenceRuns& runs, TokenStore& store, RowAccess access) {
    std::vector<Visit> list;
    for (const QueryGroup& group : runs.query_groups)
        list.push_back({group.rows, access});
    const bool whole = layout_.memory.working == WorkingSet::whole;
    return {memory_, store, list, whole ? shapes_.S : layout_.max_query_chunk};
}

std::unique_ptr<KvStream> Attention::key_values(const SequenceRuns& runs, QueryKeyValue& attended) {
    if (!attended.kv.empty())
        return std::make_unique<RingKv>(ring_, ops_, attended.kv.whole(), runs.by_slot);
    return std::make_unique<HostKv>(memory_, attended, runs.query_chunks, layout_.max_query_chunk);
}

// Steps 7-9 for every query: out (S, attended_q, D) and lse (S, attended_q).
void Attention::attend(const SequenceRuns& runs, QueryKeyValue& attended, TokenStore& out,
                       TokenStore& lse, LayerPass pass) {
    memory_.settle();
    const Section section(*this, pass);
    const bool whole = layout_.memory.working == WorkingSet::whole;
    const StateBuffers state(memory_, shapes_, whole ? shapes_.S : layout_.max_query_chunk);
    const std::unique_ptr<KvStream> kv = key_values(runs, attended);
    TokenWindow q = group_window(runs, attended.q, RowAccess::read);
    TokenWindow out_rows = group_window(runs, out, RowAccess::write);
    TokenWindow lse_rows = group_window(runs, lse, RowAccess::write);
    WindowGroup reads(memory_, q);
    WindowGroup writes(memory_, out_rows, lse_rows);
    for (std::size_t i = 0; i < runs.query_groups.size(); ++i) {
        const QueryGroup& group = runs.query_groups[i];
        // 7. the state has seen no key
        ops_(AttentionBegin{state.first(group.rows.count)});
        reads.open();
        // 8. every block of keys and values, each over all query chunks
        for (int block = 0; block < kv->num_blocks(i); ++block) {
            const KvBlock source = kv->next();
            for (const QueryChunk& chunk : chunks_of(runs, group)) {
                const TokenRange rows{chunk.range.first - group.rows.first, chunk.range.count};
                ops_(AttentionFwd{state.rows(rows), q.at(chunk.range), source.k, source.v,
                                  chunk.runs, source.runs, scale_});
            }
            kv->done();
        }
        reads.close();
        // 9. normalise by the row sums
        writes.open();
        ops_(AttentionFinish{state.first(group.rows.count), out_rows.rows(), lse_rows.rows()});
        writes.close();
    }
}

Attention::Output Attention::forward(const SequenceRuns& runs, int layer, QueryKeyValue& attended,
                                     LayerPass pass) {
    const RankShapes& s = shapes_;
    const auto [compute, accum, master] = memory_.types();
    Output made;
    made.lse = working_store(memory_, {"lse", layer}, accum, {s.S, s.attended_q});
    made.out = working_store(memory_, {"out", layer}, compute, {s.T, s.Hq, s.D});
    if (heads_.direct()) {
        attend(runs, attended, made.out, made.lse, pass);
        return made;
    }
    TokenStore out = working_store(memory_, {"attended out"}, compute, {s.S, s.attended_q, s.D});
    attend(runs, attended, out, made.lse, pass);
    heads_.out_to_tokens(ops_, {made.out.whole(), out.whole()});
    return made;
}

AttentionBackward::AttentionBackward(Attention& attention, const SequenceRuns& runs,
                                     QueryKeyValue attended, TokenStore& lse)
    : a_(attention), runs_(runs), attended_(std::move(attended)), lse_(lse) {
    if (!attended_.kv.empty()) {
        kv_ = std::make_unique<RingKvGrad>(a_.ring_, a_.ops_, attended_.kv.whole(), runs.by_slot);
    } else {
        kv_ = std::make_unique<HostKvGrad>(a_.memory_, a_.ops_, attended_, runs.query_chunks,
                                           a_.layout_.max_query_chunk);
    }
}

OutGradients AttentionBackward::make_out_gradients(std::int64_t tokens, std::int64_t heads) {
    const auto [compute, accum, master] = a_.memory_.types();
    return {working_store(a_.memory_, {"d_out"}, compute, {tokens, heads, a_.shapes_.D}),
            working_store(a_.memory_, {"delta"}, accum, {tokens, heads})};
}

OutGradients AttentionBackward::to_heads(OutGradients tokens) {
    if (a_.heads_.direct()) return tokens;
    OutGradients attended = make_out_gradients(a_.shapes_.S, a_.shapes_.attended_q);
    a_.heads_.out_grads_to_heads(a_.ops_, {tokens.d_out.whole(), attended.d_out.whole()},
                                 {tokens.delta.whole(), attended.delta.whole()});
    return attended;
}

// d_q (S, attended_q, D) accum.
void AttentionBackward::attend(OutGradients& gradients, TokenStore& d_q_store) {
    a_.memory_.settle();
    const Attention::Section section(a_, LayerPass::backward);
    const auto window = [&](TokenStore& store, RowAccess access) {
        return a_.group_window(runs_, store, access);
    };
    const Ops& run = a_.ops_;
    TokenWindow q = window(attended_.q, RowAccess::read);
    TokenWindow d_out = window(gradients.d_out, RowAccess::read);
    TokenWindow lse = window(lse_, RowAccess::read);
    TokenWindow delta = window(gradients.delta, RowAccess::read);
    TokenWindow d_q = window(d_q_store, RowAccess::write);
    WindowGroup windows(a_.memory_, q, d_out, lse, delta, d_q);
    for (std::size_t i = 0; i < runs_.query_groups.size(); ++i) {
        windows.open();
        for (int block = 0; block < kv_->num_blocks(i); ++block) {
            const KvGradBlock source = kv_->next();
            if (block == 0) run(FillZero{d_q.rows()});
            for (const QueryChunk& chunk : chunks_of(runs_, runs_.query_groups[i])) {
                const TokenRange& rows = chunk.range;
                run(AttentionBwd{q.at(rows), source.kv.k, source.kv.v, d_out.at(rows), lse.at(rows),
                                 delta.at(rows), chunk.runs, source.kv.runs, a_.scale_,
                                 d_q.at(rows), source.d_k, source.d_v});
            }
            kv_->done();
        }
        windows.close();
    }
}

// Brings gradients from attention's heads to the tokens of this rank.
ProjectedGradients AttentionBackward::to_tokens(ProjectedGradients attended) {
    if (a_.heads_.direct()) return attended;
    const RankShapes& s = a_.shapes_;
    StepMemory& memory = a_.memory_;
    const auto [compute, accum, master] = memory.types();
    const ArenaTensor d_q = memory.on_device({"d_q"}, compute, {s.S, s.attended_q, s.D});
    a_.ops_(Copy{attended.d_q.whole(), d_q});
    ProjectedGradients tokens;
    tokens.d_q = working_store(memory, {"d_q"}, compute, {s.T, s.Hq, s.D});
    tokens.kv.both = memory.on_device({"d_kv"}, accum, {2 * s.T, s.Hk, s.D});
    a_.heads_.grads_to_tokens(a_.ops_, {tokens.d_q.whole(), d_q},
                              {tokens.kv.both, attended.kv.both});
    const KeyValueRows rows = key_value(tokens.kv.both);
    tokens.kv.d_k = TokenStore(rows.k);
    tokens.kv.d_v = TokenStore(rows.v);
    return tokens;
}

ProjectedGradients AttentionBackward::finish(OutGradients tokens) {
    const RankShapes& s = a_.shapes_;
    OutGradients gradients = to_heads(std::move(tokens));
    ProjectedGradients attended;
    attended.d_q =
        working_store(a_.memory_, {"d_q"}, a_.memory_.types().accum, {s.S, s.attended_q, s.D});
    attend(gradients, attended.d_q);
    attended.kv = kv_->finish();
    kv_.reset();
    attended_ = {};
    gradients = {};
    return to_tokens(std::move(attended));
}

}  // namespace rm
