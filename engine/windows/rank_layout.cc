#include "engine/windows/rank_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rm {
namespace {

constexpr std::int64_t kTileStep = 64;    // tiles are multiples of it
constexpr std::int64_t kMostPeriod = 16;  // chunks

// Every rank of a tensor group has an equal part of every tile.
Status check_tile(std::int64_t tile_tokens, int tensor) {
    RM_CHECK(tile_tokens > 0, "tile_tokens is {}; it must be positive", tile_tokens);
    if (tile_tokens % tensor == 0) return {};
    const std::int64_t step = std::lcm<std::int64_t>(kTileStep, tensor);
    const std::int64_t below = tile_tokens / step * step;
    const std::string nearest =
        below > 0 ? format("{} or {}", below, below + step) : format("{}", step);
    return invalid_argument(
        "a tile of {} tokens does not cut into equal parts for tensor {}; the nearest multiples of "
        "{} that do: {}",
        tile_tokens, tensor, kTileStep, nearest);
}

// A tile belongs to the chunk that contains its last token.
std::vector<SlotChunk> cut_slot(std::span<const Run> runs, const RankLayout& layout) {
    const std::int64_t chunk_tokens = layout.slot_chunk_tokens();
    std::vector<SlotChunk> chunks;
    for (const TokenRange& tile : cut_tiles(runs, layout.memory.tile_tokens)) {
        const auto index = usize((tile.first + tile.count - 1) / chunk_tokens);
        if (index == chunks.size()) {
            chunks.push_back({tile, {}});
        } else {
            chunks.back().range.count += tile.count;
        }
    }
    for (SlotChunk& chunk : chunks)
        chunk.runs = slice_runs(runs, chunk.range.first, chunk.range.count);
    return chunks;
}

std::vector<QueryGroup> group_queries(const std::vector<SlotChunk>& chunks,
                                      const RankLayout& layout) {
    if (!layout.in_windows()) return {{{0, layout.slot_tokens}, 0, chunks.size()}};
    std::vector<QueryGroup> groups;
    for (std::size_t i = 0; i < chunks.size(); ++i)
        groups.push_back({chunks[i].range, i, 1});
    return groups;
}

// Whether the tile is kept: alpha n of n tiles are, evenly spread.
bool is_kept(std::int64_t tile, double alpha) {
    const auto before = [&](std::int64_t tiles) {
        return std::floor(static_cast<double>(tiles) * alpha + 1e-9);
    };
    return before(tile + 1) > before(tile);
}

// Erases all but the sample: the front and the back, and in a ring the middle's front, too.
template <typename T>
void erase_middle(std::vector<T>& list, const ChunkSample& sample) {
    const std::size_t middle = list.size() / 2;
    std::size_t count = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const bool keeps = i < sample.front || i + sample.back >= list.size() ||
                           (i >= middle && i < middle + sample.middle);
        if (keeps && count++ != i) list[count - 1] = std::move(list[i]);
    }
    list.resize(count);
}

bool sees(const Run& queries, const Run& keys) {
    return queries.document == keys.document && queries.document != kPaddingDocument &&
           keys.first < queries.first + queries.length;
}
bool sees(const SlotChunk& queries, const SlotChunk& keys) {
    for (const Run& query : queries.runs) {
        for (const Run& key : keys.runs) {
            if (sees(query, key)) return true;
        }
    }
    return false;
}

// Every chunk meets itself, though padding sees nothing: so every query chunk is met.
bool meet(const SequenceRuns& runs, const RankLayout& layout, int block, std::size_t key,
          std::size_t query) {
    const bool own = block == 0 && (!layout.in_windows() || key == query);
    return own ||
           sees(runs.query_chunks[query], runs.key_chunks[layout.ring_order.slot(block)][key]);
}

void pair_by_queries(SequenceRuns& runs, const RankLayout& layout) {
    const std::size_t per_block = runs.chunks_per_block();
    for (std::size_t query = 0; query < runs.query_chunks.size(); ++query) {
        runs.by_queries.begin_outer();
        for (int block = 0; block < layout.ring_order.num_blocks(); ++block) {
            for (std::size_t key = 0; key < per_block; ++key) {
                if (meet(runs, layout, block, key, query))
                    runs.by_queries.add(usize(block) * per_block + key);
            }
        }
    }
}

void pair_by_keys(SequenceRuns& runs, const RankLayout& layout) {
    constexpr std::size_t kNone = SIZE_MAX;
    runs.first_of_queries.assign(runs.query_chunks.size(), kNone);
    for (int n = 0; n < layout.ring_order.num_blocks(); ++n) {
        const int block = layout.ring_order.backward(n);
        for (std::size_t key = 0; key < runs.chunks_per_block(); ++key) {
            runs.by_keys.begin_outer();
            for (std::size_t query = 0; query < runs.query_chunks.size(); ++query) {
                if (!meet(runs, layout, block, key, query)) continue;
                std::size_t& first = runs.first_of_queries[query];
                if (first == kNone) first = runs.by_keys.size();
                runs.by_keys.add(query);
            }
        }
    }
}

void add_rows(RowCut& cut, std::int64_t count) {
    cut.ranges.push_back({cut.total, count});
    cut.most = std::max(cut.most, count);
    cut.total += count;
}

void cut_chunks(RankLayout& layout) {
    const std::vector<Run> all = {{0, 0, layout.local_tokens}};
    const MemoryPolicy& memory = layout.memory;
    const std::int64_t tiles_per_chunk =
        std::max<std::int64_t>(1, memory.chunk_tokens / memory.tile_tokens);
    std::int64_t index = 0, kept_tokens = 0;
    for (const auto& tiles : group_chunks(cut_tiles(all, memory.tile_tokens), tiles_per_chunk)) {
        Chunk& chunk = layout.chunks.emplace_back();
        const std::int64_t kept_before = kept_tokens;
        for (const TokenRange& range : tiles) {
            const bool kept = is_kept(index++, memory.alpha);
            chunk.push_back({range, kept ? kept_tokens : -1});
            if (kept) kept_tokens += range.count;
        }
        add_rows(layout.tokens, cover(tiles).count);
        add_rows(layout.shards, cover(tiles).count / layout.tensor);
        add_rows(layout.kept, kept_tokens - kept_before);
        add_rows(layout.kept_shards, (kept_tokens - kept_before) / layout.tensor);
    }
    layout.max_tile = layout.chunks.front().front().range.count;
}

}  // namespace

KeptPeriod kept_period(const MemoryPolicy& policy) {
    const std::int64_t tiles = std::max<std::int64_t>(1, policy.chunk_tokens / policy.tile_tokens);
    const auto all = static_cast<double>(tiles);
    const double kept = policy.alpha * all;  // of a chunk's tiles
    KeptPeriod best;
    double least = 2;
    for (std::int64_t chunks = 1; chunks <= kMostPeriod; ++chunks) {
        const auto count = static_cast<double>(chunks);
        double tiles_kept = std::round(kept * count);
        // For 0 < alpha < 1, at least one tile is kept and at least one is not.
        if (kept > 0 && kept < all) {
            if (all * count < 2) continue;
            tiles_kept = std::clamp(tiles_kept, 1.0, all * count - 1);
        }
        const double share = tiles_kept / count;
        const double error = std::abs(share - kept);
        if (error >= least - 1e-9) continue;
        least = error;
        best = {chunks, error < 1e-9 ? policy.alpha : share / all};
    }
    return best;
}

ChunkSample planning_sample(const MemoryPolicy& policy) {
    const auto slots = usize(policy.prefetch) + 1;
    const KeptPeriod period = kept_period(policy);
    const auto repeated = usize(period.chunks);
    return {.front = 2 * slots + repeated + 2, .back = slots + 1, .alpha = period.alpha};
}

Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    const MemoryPolicy& memory) {
    RankLayout layout;
    layout.context = context;
    layout.ring = mesh.size(Axis::ring);
    layout.ring_slot = mesh.coord(rank, Axis::ring);
    layout.ring_order = RingOrder(layout.ring, mesh.inner_ring(), layout.ring_slot);
    layout.ulysses = mesh.size(Axis::ulysses);
    layout.ulysses_index = mesh.coord(rank, Axis::ulysses);
    layout.tensor = mesh.size(Axis::tensor);
    layout.tensor_index = mesh.coord(rank, Axis::tensor);
    layout.memory = memory;
    RM_RETURN_IF_ERROR(check_tile(memory.tile_tokens, layout.tensor));
    RM_TRY(layout.padded, padded_length(context, mesh));
    layout.slot_tokens = layout.padded / layout.ring;
    layout.local_tokens = layout.slot_tokens / layout.ulysses;
    cut_chunks(layout);
    layout.max_slot_chunk =
        std::min(layout.slot_chunk_tokens() + memory.tile_tokens, layout.slot_tokens);
    return layout;
}

RankLayout make_decode_layout(const RankLayout& of) {
    RankLayout layout;
    layout.context = of.context;
    layout.padded = layout.slot_tokens = of.ulysses * of.tensor;
    layout.local_tokens = of.tensor;
    layout.ring_order = RingOrder(1, 1, 0);
    layout.ulysses = of.ulysses;
    layout.ulysses_index = of.ulysses_index;
    layout.tensor = of.tensor;
    layout.tensor_index = of.tensor_index;
    layout.memory = {.tile_tokens = of.tensor,
                     .chunk_tokens = of.tensor,
                     .prefetch = of.memory.prefetch,
                     .reuse = of.memory.reuse};
    layout.max_slot_chunk = layout.slot_tokens;
    cut_chunks(layout);
    return layout;
}

std::int64_t RankLayout::slot_chunk_tokens() const {
    const std::int64_t chunk = std::max(memory.chunk_tokens, memory.tile_tokens);
    return in_windows() ? chunk / memory.tile_tokens * memory.tile_tokens * ulysses : chunk;
}

namespace {

// Keeps the tiles that another alpha would keep, at rows that exist in the stores.
void keep_by(RankLayout& layout, double alpha) {
    RankLayout other = layout;
    other.memory.alpha = alpha;
    for (RowCut* cut : {&other.tokens, &other.shards, &other.kept, &other.kept_shards})
        *cut = {};
    other.chunks.clear();
    cut_chunks(other);
    const auto move_in = [](RowCut& cut, const RowCut& from) {
        cut.ranges = from.ranges;
        for (TokenRange& rows : cut.ranges)
            rows.first = std::min(rows.first, cut.total - rows.count);
    };
    move_in(layout.kept, other.kept);
    move_in(layout.kept_shards, other.kept_shards);
    layout.chunks = std::move(other.chunks);
    for (std::size_t i = 0; i < layout.chunks.size(); ++i) {
        const std::int64_t back = other.kept.ranges[i].first - layout.kept.ranges[i].first;
        for (Tile& tile : layout.chunks[i]) {
            if (tile.kept()) tile.kept_first -= back;
        }
    }
}

}  // namespace

HeadShare head_share(const ModelConfig& m, int tensor, int index) {
    const std::int64_t group = m.num_query_heads / m.num_kv_heads;
    HeadShare share;
    share.q_count = m.num_query_heads / tensor;
    share.q_first = share.q_count * index;
    share.kv_first = share.q_first / group;
    share.kv_count = (share.q_first + share.q_count - 1) / group - share.kv_first + 1;
    return share;
}

RankShapes::RankShapes(const ModelConfig& model, const RankLayout& layout)
    : T(layout.local_tokens),
      Ts(layout.local_tokens / layout.tensor),
      S(layout.slot_tokens),
      tile(layout.max_tile),
      C(model.hidden),
      F(model.feed_forward / layout.tensor),
      D(model.head_dim),
      Hq(model.num_query_heads / layout.tensor),
      Hk(head_share(model, layout.tensor, layout.tensor_index).kv_count),
      attended_q(Hq / layout.ulysses) {
    // The longest runs of query heads that never straddle two key-value heads, whichever rank.
    attended_kv = attended_q / std::gcd(attended_q, model.num_query_heads / model.num_kv_heads);
}

void sample_chunks(RankLayout& layout, const ChunkSample& sample) {
    if (sample.alpha && *sample.alpha != layout.memory.alpha) keep_by(layout, *sample.alpha);
    erase_middle(layout.chunks, sample);
    for (RowCut* cut : {&layout.tokens, &layout.shards, &layout.kept, &layout.kept_shards})
        erase_middle(cut->ranges, sample);
    layout.sample = sample;
}

void sample_ring(RankLayout& layout, const RingSample& sample) {
    if (layout.in_windows()) layout.ring_order.sample(sample.steps, sample.rounds);
}

SequenceRuns make_sequence_runs(const DocumentLayout& laid_out, const RankLayout& layout) {
    SequenceRuns runs;
    for (const std::vector<Piece>& pieces : laid_out.slots)
        runs.by_slot.push_back(runs_of(pieces));
    runs.local = runs_of(local_pieces(laid_out, layout));
    for (const TokenRange& chunk : layout.tokens.ranges)
        runs.by_chunk.push_back(slice_runs(runs.local, chunk.first, chunk.count));
    runs.query_chunks = cut_slot(runs.by_slot[usize(layout.ring_slot)], layout);
    for (const std::vector<Run>& slot : runs.by_slot) {
        runs.key_chunks.push_back(layout.in_windows()
                                      ? cut_slot(slot, layout)
                                      : std::vector{SlotChunk{{0, layout.slot_tokens}, slot}});
    }
    if (layout.sample && layout.sample->queries == ChunkSample::Queries::sampled) {
        erase_middle(runs.query_chunks, *layout.sample);
        for (std::vector<SlotChunk>& keys : runs.key_chunks)
            erase_middle(keys, *layout.sample);
    }
    runs.query_groups = group_queries(runs.query_chunks, layout);
    if (layout.in_windows()) pair_by_queries(runs, layout);
    pair_by_keys(runs, layout);
    return runs;
}

SequenceRuns padding_runs(const RankLayout& layout) {
    return make_sequence_runs(place_documents({}, layout.padded, layout.ring, Positions::reset),
                              layout);
}

SequenceRuns decode_runs(std::int64_t position, const RankLayout& layout) {
    DocumentLayout laid_out;
    std::vector<Piece>& slot = laid_out.slots.emplace_back();
    slot.push_back({0, {0, position, 1}});
    if (layout.padded > 1) slot.push_back({1, {kPaddingDocument, 0, layout.padded - 1}});
    return make_sequence_runs(laid_out, layout);
}

// The pieces that cover tokens [begin, end) of the slot.
static void add_pieces(const std::vector<Piece>& slot, std::int64_t begin, std::int64_t end,
                       std::vector<Piece>& local) {
    std::int64_t start = 0;  // of the piece, in the slot's token order
    for (const Piece& piece : slot) {
        const std::int64_t from = std::max(begin - start, std::int64_t{0});
        const std::int64_t to = std::min(end - start, piece.run.length);
        start += piece.run.length;
        if (from >= to) continue;
        local.push_back(
            {piece.first + from, {piece.run.document, piece.run.first + from, to - from}});
    }
}

std::vector<Piece> local_pieces(const DocumentLayout& laid_out, const RankLayout& layout) {
    const std::vector<Piece>& slot = laid_out.slots.at(usize(layout.ring_slot));
    if (layout.ulysses == 1) return slot;
    const std::vector<Run> all = {{0, 0, layout.local_tokens}};
    std::vector<Piece> local;
    for (const TokenRange& tile : cut_tiles(all, layout.memory.tile_tokens)) {
        const std::int64_t begin = layout.slot_rows(tile).first + layout.ulysses_index * tile.count;
        add_pieces(slot, begin, begin + tile.count, local);
    }
    return local;
}

}  // namespace rm
