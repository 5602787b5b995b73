#include "engine/attention/attention.h"

#include <cmath>

#include "engine/attention/host_kv.h"

namespace rm {
namespace {

std::span<const SlotChunk> chunks_of(const SequenceRuns& runs, const QueryGroup& group) {
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
                     const RankLayout& layout, const RankShapes& shapes, AttentionRounding rounding,
                     CacheLink cache, const Ops& ops, LayerPassTimers& timers)
    : memory_(memory),
      layout_(layout),
      shapes_(shapes),
      numbers_(rounding.products),
      ops_(ops),
      timers_(timers),
      heads_(streams, memory, model, layout, shapes, rounding.heads),
      ring_(streams, memory, layout, shapes.attended_kv, shapes.D),
      cache_(cache),
      scale_(1 / std::sqrt(static_cast<double>(shapes.D))) {
    if (cache.extends()) cached_.emplace(streams, memory, shapes, ops, *cache.cache);
}

QueryKeyValue Attention::make_inputs(int layer) {
    const auto make = [&](std::string_view what, std::int64_t heads) {
        return working_store(memory_, {what, layer}, memory_.types().compute,
                             {shapes_.S, heads, shapes_.D});
    };
    QueryKeyValue made;
    made.q = make("q", shapes_.attended_q);
    if (cache_.fills()) {
        made.kv = cache_.cache->prompt(layer);
    } else {
        made.kv.k = make("k", shapes_.attended_kv);
        made.kv.v = make("v", shapes_.attended_kv);
    }
    for (TokenStore* travels : {&made.kv.k, &made.kv.v})
        travels->set_travels();
    return made;
}

TokenWindow Attention::group_window(const SequenceRuns& runs, TokenStore& store, RowAccess access) {
    std::vector<Visit> list;
    for (const QueryGroup& group : runs.query_groups)
        list.push_back({group.rows, access});
    return {memory_, store, list, ring_.most_rows()};
}

std::unique_ptr<KvStream> Attention::key_values(const SequenceRuns& runs, KeyValue& own) {
    if (layout_.in_windows()) return std::make_unique<HostKv>(ring_, own, runs);
    return std::make_unique<RingKv>(ring_, ops_, own, runs);
}

// A block of keys and values into the state.
void Attention::merge(const AttentionFwd& op) const {
    if (numbers_ == AttentionNumbers::compute) return ops_(op);
    ops_(AttentionFwd8{op.state, op.q, op.k, op.v, op.q_runs, op.kv_runs, op.scale});
}

// The gradients of that.
void Attention::differentiate(const AttentionBwd& op) const {
    if (numbers_ == AttentionNumbers::compute) return ops_(op);
    ops_(AttentionBwd8{op.q, op.k, op.v, op.d_out, op.lse, op.delta, op.q_runs, op.kv_runs,
                       op.scale, op.d_q, op.d_k, op.d_v});
}

// Steps 7-9 for every query.
void Attention::attend(const SequenceRuns& runs, QueryKeyValue& attended, Output& to,
                       LayerPass pass) {
    memory_.settle();
    const Section section(*this, pass);
    const StateBuffers state(memory_, shapes_, ring_.most_rows());
    const std::unique_ptr<KvStream> kv = key_values(runs, attended.kv);
    TokenWindow q = group_window(runs, attended.q, RowAccess::read);
    TokenWindow out_rows = group_window(runs, to.out, RowAccess::write);
    TokenWindow lse_rows = group_window(runs, to.lse, RowAccess::write);
    WindowGroup reads(memory_, q);
    WindowGroup writes(memory_, out_rows, lse_rows);
    for (std::size_t i = 0; i < runs.query_groups.size(); ++i) {
        const QueryGroup& group = runs.query_groups[i];
        // 7. the state has seen no key
        ops_(AttentionBegin{state.first(group.rows.count)});
        reads.open();
        // 8. every block of keys and values, each over all query chunks
        for (std::size_t block = 0; block < kv->num_blocks(i); ++block) {
            const KvBlock source = kv->next();
            for (const SlotChunk& chunk : chunks_of(runs, group)) {
                const TokenRange rows{chunk.range.first - group.rows.first, chunk.range.count};
                merge({state.rows(rows), q.at(chunk.range), source.k, source.v, chunk.runs,
                       source.runs, scale_});
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
    made.out = working_store(memory_, {"out", layer}, compute, {s.S, s.attended_q, s.D});
    if (cached_) {
        memory_.settle();
        const Section section(*this, pass);
        cached_->attend(runs, layer, attended, scale_, made.out.whole(), made.lse.whole());
    } else {
        attend(runs, attended, made, pass);
    }
    return made;
}

AttentionBackward::AttentionBackward(Attention& attention, const SequenceRuns& runs,
                                     QueryKeyValue attended, TokenStore& lse)
    : a_(attention),
      runs_(runs),
      attended_(std::move(attended)),
      lse_(lse),
      kv_(std::make_unique<KvGradients>(a_.ring_, a_.ops_, attended_.kv, runs)) {}

OutGradients AttentionBackward::make_out_gradients() {
    const auto [compute, accum, master] = a_.memory_.types();
    const RankShapes& s = a_.shapes_;
    return {working_store(a_.memory_, {"d_out"}, compute, {s.S, s.attended_q, s.D}),
            working_store(a_.memory_, {"delta"}, accum, {s.S, s.attended_q})};
}

// Visits the queries that see each key-value chunk.
TokenWindow AttentionBackward::query_window(TokenStore& store, RowAccess first, RowAccess later) {
    const SequenceRuns& runs = runs_;
    const Visits visits(runs.by_keys.size(), [&runs, first, later](std::size_t i) {
        const std::size_t query = runs.by_keys[i].inner;
        return Visit{runs.query_chunks[query].range,
                     runs.first_of_queries[query] == i ? first : later};
    });
    return {a_.memory_, store, visits, a_.layout_.max_slot_chunk};
}

// d_q (S, attended_q, D) accum.
void AttentionBackward::attend(OutGradients& gradients, TokenStore& d_q_store) {
    a_.memory_.settle();
    const Attention::Section section(a_, LayerPass::backward);
    const auto reads = [&](TokenStore& store) {
        return query_window(store, RowAccess::read, RowAccess::read);
    };
    const Ops& run = a_.ops_;
    TokenWindow q = reads(attended_.q);
    TokenWindow d_out = reads(gradients.d_out);
    TokenWindow lse = reads(lse_);
    TokenWindow delta = reads(gradients.delta);
    TokenWindow d_q = query_window(d_q_store, RowAccess::write, RowAccess::update);
    WindowGroup windows(a_.memory_, q, d_out, lse, delta, d_q);
    for (std::size_t chunk = 0; chunk < kv_->num_chunks(); ++chunk) {
        const KvGradBlock source = kv_->next();
        const std::size_t first = runs_.by_keys.first(chunk);
        for (std::size_t i = first; i < first + runs_.by_keys.count(chunk); ++i) {
            const std::size_t query = runs_.by_keys[i].inner;
            windows.open();
            if (runs_.first_of_queries[query] == i) run(FillZero{d_q.rows()});
            a_.differentiate({q.rows(), source.kv.k, source.kv.v, d_out.rows(), lse.rows(),
                              delta.rows(), runs_.query_chunks[query].runs, source.kv.runs,
                              a_.scale_, d_q.rows(), source.d_k, source.d_v});
            windows.close();
        }
        kv_->done();
    }
}

AttendedGradients AttentionBackward::finish(OutGradients gradients) {
    const RankShapes& s = a_.shapes_;
    AttendedGradients made;
    made.d_q =
        working_store(a_.memory_, {"d_q"}, a_.memory_.types().accum, {s.S, s.attended_q, s.D});
    attend(gradients, made.d_q);
    made.d_kv = kv_->finish();
    kv_.reset();
    attended_ = {};
    return made;
}

}  // namespace rm
