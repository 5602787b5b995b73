#include "engine/dry_run/policy_candidates.h"

#include <algorithm>

namespace rm {
namespace {

// Tiles where the speeds of products are known, which grow with the tile; the best first. A rank
// has this many at least, so that alpha and chunks have a choice.
constexpr std::int64_t kTiles[] = {32768, 8192, 2048, kUsualTile};
constexpr std::int64_t kLeastTiles = 8;
// Short tiles of long slots save little of what a slot takes.
constexpr std::int64_t kMostTiles = 512;
// A long chunk hides its transfers better, and a rank of many tokens has fewer of them.
constexpr std::int64_t kMostUsualChunk = 32768;
constexpr std::int64_t kUsualChunks = 16;

}  // namespace

std::vector<std::int64_t> tiles_of(const MemorySpec& spec, const PolicyPredictor& predictor) {
    if (spec.tile > 0 || !predictor.has_times()) return {spec.tile_or_usual()};
    std::vector<std::int64_t> tiles;
    for (const std::int64_t tile : kTiles) {
        const bool suits = predictor.suits(tile) && (spec.chunk == 0 || spec.chunk % tile == 0);
        const bool enough = tile == kUsualTile || predictor.rank_tokens() >= kLeastTiles * tile;
        const bool too_many = tile < kLeanTile && predictor.rank_tokens() > kMostTiles * tile;
        if (suits && enough && (!too_many || tiles.empty())) tiles.push_back(tile);
    }
    return tiles.empty() ? std::vector{kUsualTile} : tiles;
}

std::vector<std::int64_t> chunks_of(const MemorySpec& spec, const PolicyPredictor& predictor) {
    if (spec.chunk > 0) return {spec.chunk};
    std::int64_t usual = resolve_memory(spec).chunk_tokens;
    if (predictor.has_times()) {
        const std::int64_t part = std::min(predictor.rank_tokens() / kUsualChunks, kMostUsualChunk);
        usual = std::max(usual, part / spec.tile * spec.tile);
    }
    std::vector<std::int64_t> chunks = {usual};
    for (std::int64_t chunk = usual / 2 / spec.tile * spec.tile; chunk >= spec.tile;
         chunk = chunk / 2 / spec.tile * spec.tile)
        chunks.push_back(chunk);
    return chunks;
}

std::vector<MemoryPolicy> places_of(const MemorySpec& spec, int keep_every) {
    std::vector<MemoryPolicy> places;
    for (const Keep keep : {Keep::input_and_attention, Keep::input}) {
        if (spec.keep && *spec.keep != keep) continue;
        MemoryPolicy policy = resolve_memory(spec);
        policy.keep = keep;
        policy.keep_every = keep_every;
        const bool must_window = spec.windows == Switch::on;
        const auto add = [&](KeptPlace kept, WorkingSet working) {
            policy.kept = kept;
            policy.working = working;
            places.push_back(policy);
        };
        if (!must_window && spec.offload != Switch::on) add(KeptPlace::device, WorkingSet::whole);
        if (spec.offload == Switch::off) continue;
        if (!must_window) add(KeptPlace::host, WorkingSet::whole);
        if (spec.windows != Switch::off) add(KeptPlace::host, WorkingSet::windows);
    }
    return places;
}

std::vector<int> groups_of(const MemorySpec& spec) {
    if (spec.keep_every > 0) return {spec.keep_every};
    return {1, 2, 4, 8};
}

MemoryPolicy resident_policy(const MemorySpec& spec, Keep keep, int keep_every) {
    MemoryPolicy policy = resolve_memory(spec);
    policy.keep = keep;
    policy.alpha = spec.alpha.value_or(1);
    policy.kept = KeptPlace::device;
    policy.working = WorkingSet::whole;
    policy.keep_every = keep_every;
    return policy;
}

MemoryPolicy fastest_policy(MemorySpec spec, const PolicyPredictor& predictor, Keep keep,
                            int keep_every) {
    const std::int64_t tile = tiles_of(spec, predictor).front();
    const std::int64_t part = predictor.rank_tokens() / kLeastTiles;
    spec.tile = std::max(tile, part / tile * tile);
    spec.chunk = spec.tile;
    return resident_policy(spec, keep, keep_every);
}

MemoryPolicy leanest_whole(const MemorySpec& spec) {
    MemoryPolicy policy = resolve_memory(spec);
    policy.keep = Keep::input;
    policy.alpha = spec.alpha.value_or(0);
    policy.kept = KeptPlace::host;
    policy.working = WorkingSet::whole;
    policy.keep_every = 1;
    policy.prefetch = std::min(policy.prefetch, 1);
    if (spec.chunk == 0) policy.chunk_tokens = spec.tile;
    return policy;
}

}  // namespace rm
