#include "engine/model/layer_stores.h"

namespace rm {

using Place = TokenStore::Place;

Place working_place(const MemoryPolicy& policy) {
    return policy.working == WorkingSet::windows ? Place::host : Place::device;
}
Place kept_place(const MemoryPolicy& policy) {
    return policy.kept == KeptPlace::host ? Place::host : Place::device;
}

TokenWindow cut_window(StepMemory& memory, TokenStore& store, const RowCut& cut, RowAccess access) {
    if (store.empty()) return {};
    return {memory, store, openings(cut.ranges, access), cut.most};
}

TokenStore working_store(const BlockContext& c, BufferName name, DType dtype,
                         std::initializer_list<std::int64_t> shape) {
    return {c.memory, name, working_place(c.memory.policy()), dtype, shape};
}

TokenStore kept_store(const BlockContext& c, BufferName name, DType dtype,
                      std::initializer_list<std::int64_t> shape) {
    return {c.memory, name, kept_place(c.memory.policy()), dtype, shape};
}

QueryKeyValue working_query_key_value(const BlockContext& c, int layer, std::int64_t tokens,
                                      std::int64_t query_heads, std::int64_t kv_heads) {
    const DType type = c.types.compute;
    const std::int64_t D = c.shapes.D;
    QueryKeyValue made;
    made.q = working_store(c, {"q", layer}, type, {tokens, query_heads, D});
    if (c.memory.policy().working == WorkingSet::windows) {
        made.k = working_store(c, {"k", layer}, type, {tokens, kv_heads, D});
        made.v = working_store(c, {"v", layer}, type, {tokens, kv_heads, D});
        return made;
    }
    made.kv = working_store(c, {"kv", layer}, type, {2 * tokens, kv_heads, D});
    const KeyValueRows rows = key_value(made.kv.whole());
    made.k = TokenStore(rows.k);
    made.v = TokenStore(rows.v);
    return made;
}

QueryKeyValue attended_store(const BlockContext& c, int layer) {
    const RankShapes& s = c.shapes;
    return working_query_key_value(c, layer, s.S, s.attended_q, s.attended_kv);
}

bool keeps_attended(const MemoryPolicy& policy) {
    return policy.alpha == 1 && working_place(policy) == kept_place(policy);
}

bool copies_out(const MemoryPolicy& policy) {
    return policy.keep == Keep::input_and_attention && working_place(policy) != kept_place(policy);
}

void make_kept(const BlockContext& c, int layer, LayerKept& kept) {
    const DType type = c.types.compute;
    const RankShapes& s = c.shapes;
    const std::int64_t rows = c.layout.kept.total, shard_rows = c.layout.kept_shards.total;
    if (copies_out(c.memory.policy()))
        kept.out = kept_store(c, {"kept out", layer}, type, {s.T, s.Hq, s.D});
    if (rows == 0) return;
    kept.x_mid = kept_store(c, {"kept x_mid", layer}, type, {shard_rows, s.C});
    kept.gate = kept_store(c, {"kept gate", layer}, type, {rows, s.F});
    kept.up = kept_store(c, {"kept up", layer}, type, {rows, s.F});
    if (keeps_attended(c.memory.policy())) return;
    kept.tiles.q = kept_store(c, {"kept q", layer}, type, {rows, s.Hq, s.D});
    kept.tiles.k = kept_store(c, {"kept k", layer}, type, {rows, s.Hk, s.D});
    kept.tiles.v = kept_store(c, {"kept v", layer}, type, {rows, s.Hk, s.D});
}

TokenWindow token_window(const BlockContext& c, TokenStore& store, RowAccess access) {
    return cut_window(c.memory, store, c.layout.tokens, access);
}
TokenWindow shard_window(const BlockContext& c, TokenStore& store, RowAccess access) {
    return cut_window(c.memory, store, c.layout.shards, access);
}
TokenWindow kept_window(const BlockContext& c, TokenStore& store, RowAccess access) {
    return cut_window(c.memory, store, c.layout.kept, access);
}
TokenWindow kept_shard_window(const BlockContext& c, TokenStore& store, RowAccess access) {
    return cut_window(c.memory, store, c.layout.kept_shards, access);
}

TokenWindow pass_window(const BlockContext& c, TokenStore& store, RowAccess access) {
    std::vector<Opening> list;
    for (const AttentionPass& pass : c.runs.passes)
        list.push_back({pass.rows, access});
    const bool whole = c.memory.policy().working == WorkingSet::whole;
    return {c.memory, store, list, whole ? c.shapes.S : c.layout.max_query_chunk};
}

}  // namespace rm
