#include "engine/attention/cached_attention.h"

namespace rm {
namespace {

// Elements: parts begin where vectors may be loaded.
constexpr std::int64_t kPartStep = 64;

std::int64_t part_elements(const RankShapes& s) {
    const std::int64_t all = s.S * s.attended_q * (s.D + 2);
    return (all + kPartStep - 1) / kPartStep * kPartStep;
}

}  // namespace

CachedAttention::CachedAttention(const RankStreams& streams, StepMemory& memory,
                                 const RankShapes& shapes, const Ops& ops, KvCache& cache)
    : ring_(streams.communicator.group(GroupKey::ring)),
      memory_(memory),
      shapes_(shapes),
      ops_(ops),
      cache_(cache),
      exchange_(streams, 1) {}

// acc, m and l, one after the other.
AttentionState CachedAttention::state_of(const TensorView& part) const {
    const std::int64_t rows = shapes_.S * shapes_.attended_q;
    const TensorView flat = part.reshaped({part.num_elements()});
    return {flat.rows(0, rows * shapes_.D).reshaped({shapes_.S, shapes_.attended_q, shapes_.D}),
            flat.rows(rows * shapes_.D, rows).reshaped({shapes_.S, shapes_.attended_q}),
            flat.rows(rows * (shapes_.D + 1), rows).reshaped({shapes_.S, shapes_.attended_q})};
}

void CachedAttention::append(int layer, const KeyValue& latest) const {
    if (!cache_.takes_latest()) return;
    ops_(Copy{latest.k.whole().rows(0, 1), cache_.latest_k(layer)});
    ops_(Copy{latest.v.whole().rows(0, 1), cache_.latest_v(layer)});
}

void CachedAttention::merge(const Queries& queries, const KvBlock& block,
                            const AttentionState& state) const {
    ops_(AttentionFwd{state, queries.q, block.k, block.v, queries.runs, block.runs, queries.scale});
}

void CachedAttention::merge_prompt(int layer, const Queries& queries, const AttentionState& state) {
    const std::span<const SlotChunk> chunks = cache_.prompt_chunks();
    KeyValue prompt = cache_.prompt(layer);
    const Visits all(chunks.size(), [chunks](std::size_t i) { return Visit{chunks[i].range}; });
    TokenWindow k(memory_, prompt.k, all, cache_.most_chunk_rows());
    TokenWindow v(memory_, prompt.v, all, cache_.most_chunk_rows());
    WindowGroup windows(memory_, k, v);
    for (const SlotChunk& chunk : chunks) {
        windows.open();
        merge(queries, {k.rows(), v.rows(), chunk.runs}, state);
        windows.close();
    }
}

void CachedAttention::gather(const TensorView& parts) {
    exchange_.start(
        0, [&](Communicator& communicator) { communicator.all_gather(GroupKey::ring, parts); });
    exchange_.arrive(0);
}

void CachedAttention::attend(const SequenceRuns& runs, int layer, const QueryKeyValue& attended,
                             double scale, const TensorView& out, const TensorView& lse) {
    append(layer, attended.kv);
    const std::int64_t num_parts = ring_.size();
    const ArenaTensor parts = memory_.on_device({"states", layer}, memory_.types().accum,
                                                {num_parts, part_elements(shapes_)});
    const auto part = [&](std::int64_t rank) { return state_of(parts->rows(rank, 1)); };
    const AttentionState own = part(ring_.index), all = part(0);
    const Queries queries{attended.q.whole(), runs.by_slot[0], scale};
    ops_(AttentionBegin{own});
    merge_prompt(layer, queries, own);
    if (const KvBlock added = cache_.added(layer); added.k.dim(0) > 0) merge(queries, added, own);
    if (num_parts > 1) gather(parts);
    for (std::int64_t rank = 1; rank < num_parts; ++rank)
        ops_(AttentionMerge{part(rank), all});
    ops_(AttentionFinish{all, out, lse});
}

}  // namespace rm
