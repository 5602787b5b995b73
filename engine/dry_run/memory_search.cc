#include "engine/dry_run/memory_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/dry_run/policy_choice.h"

namespace rm {
namespace {

constexpr int kAlphaSteps = 16;  // alpha is a multiple of 1 / 16
// Tiles where the speeds of products are known, which grow with the tile; the best first. A rank
// has this many at least, so that alpha and chunks have a choice.
constexpr std::int64_t kTiles[] = {32768, 8192, 2048, kUsualTile};
constexpr std::int64_t kLeastTiles = 8;
// A long chunk hides its transfers better, and a rank of many tokens has fewer of them.
constexpr std::int64_t kMostUsualChunk = 32768;
constexpr std::int64_t kUsualChunks = 16;
constexpr std::int64_t kLeanTile = 8192;  // where memory matters more than speed
constexpr double kNear = 2.5e-3;  // as much slower than with everything resident is near enough

std::vector<std::int64_t> tiles_of(const MemorySpec& spec, const PolicyPredictor& predictor) {
    if (spec.tile > 0 || !predictor.has_times()) return {spec.tile_or_usual()};
    std::vector<std::int64_t> tiles;
    for (const std::int64_t tile : kTiles) {
        const bool suits = predictor.suits(tile) && (spec.chunk == 0 || spec.chunk % tile == 0);
        const bool enough = tile == kUsualTile || predictor.rank_tokens() >= kLeastTiles * tile;
        if (suits && enough) tiles.push_back(tile);
    }
    return tiles.empty() ? std::vector{kUsualTile} : tiles;
}

// The spec has a tile.
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

// The places to keep activations, in the order of choose_memory; alpha and the chunk stay open.
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

// How many layers share a kept input, until something fits: more cost a forward pass again.
std::vector<int> groups_of(const MemorySpec& spec) {
    if (spec.keep_every > 0) return {spec.keep_every};
    return {1, 2, 4, 8};
}

// With everything on the device, whatever its size.
MemoryPolicy resident_policy(const MemorySpec& spec, Keep keep, int keep_every = 1) {
    MemoryPolicy policy = resolve_memory(spec);
    policy.keep = keep;
    policy.alpha = spec.alpha.value_or(1);
    policy.kept = KeptPlace::device;
    policy.working = WorkingSet::whole;
    policy.keep_every = keep_every;
    return policy;
}

// Searches the alphas of one place and chunk.
class AlphaSearch {
public:
    // `resident`: with the policy's tile and keep; nothing without times.
    AlphaSearch(PolicyPredictor& predictor, PolicyChoice& choice, MemoryPolicy policy,
                const std::optional<Prediction>& resident)
        : predictor_(predictor), choice_(choice), policy_(policy), resident_(resident) {}

    // Returns whether any fits, or all that may fit are too slow.
    Result<bool> run() {
        if (resident_ && policy_.kept == KeptPlace::device) {
            // The largest alpha is the fastest.
            RM_TRY(const bool all_fits, offer(kAlphaSteps));
            if (all_fits) return true;
        }
        RM_TRY(const bool least_fits, offer(0));
        if (!least_fits) return false;
        RM_TRY(const bool settled, none_settles());
        if (settled) return true;
        RM_TRY(const int most, largest_that_fits());
        if (resident_ && policy_.kept == KeptPlace::host) RM_RETURN_IF_ERROR(descend(most));
        return true;
    }

private:
    MemoryPolicy at(int steps) const {
        MemoryPolicy policy = policy_;
        policy.alpha = static_cast<double>(steps) / kAlphaSteps;
        return policy;
    }
    Result<bool> offer(int steps) {
        RM_TRY(const Prediction prediction, predictor_(at(steps)));
        if (share_of_limits(policy_, prediction) > 1) {
            choice_.offer(at(steps), prediction);
            return false;
        }
        // Without times, PolicyChoice would keep this smaller alpha as the first that fits.
        if (resident_) choice_.offer(at(steps), prediction);
        return true;
    }
    // Whether no alpha above 0 is worth a search: 0 is nearly as fast as if everything were
    // resident, or all recomputation together does not make up for its waits.
    Result<bool> none_settles() {
        if (!resident_) return false;
        RM_TRY(const Prediction none, predictor_(at(0)));
        if (none.step.value <= (1 + kNear) * resident_->step.value) return true;
        const double saved = none.busy.at("compute") - resident_->busy.at("compute");
        return choice_.loses({none.step.value - saved});
    }
    // More alpha takes more memory, about in proportion: the first guess is where the line through
    // none and all meets the limits.
    Result<int> largest_that_fits() {
        int fits = 0, above = kAlphaSteps + 1;
        for (int next = kAlphaSteps; above - fits > 1;) {
            RM_TRY(const bool good, offer(next));
            (good ? fits : above) = next;
            if (next == kAlphaSteps) {
                RM_TRY(next, where_limits_are_met());
            } else {
                next += good ? 1 : -1;
            }
            next = std::clamp(next, fits + 1, std::max(fits + 1, above - 1));
        }
        RM_TRY(const Prediction prediction, predictor_(at(fits)));
        choice_.offer(at(fits), prediction);
        return fits;
    }
    Result<int> where_limits_are_met() {
        RM_TRY(const Prediction none, predictor_(at(0)));
        RM_TRY(const Prediction all, predictor_(at(kAlphaSteps)));
        const double least = share_of_limits(policy_, none), most = share_of_limits(policy_, all);
        if (most <= least) return kAlphaSteps;
        return static_cast<int>(kAlphaSteps * (1 - least) / (most - least));
    }
    // Each step of alpha saves recomputation up to the best one and costs waits beyond it.
    Status descend(int most) {
        int low = 0, high = most;
        for (int middle = 0; low < high; middle = (low + high) / 2) {
            RM_TRY(const Prediction here, predictor_(at(middle)));
            RM_TRY(const Prediction next, predictor_(at(middle + 1)));
            if (next.step <= here.step) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        RM_TRY(const Prediction prediction, predictor_(at(low)));
        choice_.offer(at(low), prediction);
        return {};
    }

    PolicyPredictor& predictor_;
    PolicyChoice& choice_;
    MemoryPolicy policy_;
    const std::optional<Prediction>& resident_;
};

// Tries one place to keep activations.
class PlaceSearch {
public:
    PlaceSearch(const MemorySpec& spec, MemoryPolicy place, PolicyPredictor& predictor,
                PolicyChoice& choice)
        : spec_(spec), policy_(place), predictor_(predictor), choice_(choice) {}

    Status run() {
        const std::vector<std::int64_t> chunks = chunks_of(spec_, predictor_);
        policy_.chunk_tokens = chunks.front();
        if (predictor_.has_times()) {
            RM_TRY(resident_, predictor_(resident_of(chunks.front())));
            if (choice_.loses(resident_->step)) return {};
        }
        // Activations that stay on the device do not move in chunks.
        if (predictor_.has_times() && policy_.kept == KeptPlace::device) {
            const auto tried = try_alphas();
            return tried ? Status() : tried.error();
        }
        RM_TRY(const bool too_much, host_is_short());
        return too_much ? Status() : try_chunks(chunks);
    }

private:
    // Windows keep on the host what whole layers do, and more.
    Result<bool> host_is_short() {
        if (policy_.working != WorkingSet::windows || policy_.host.value == 0) return false;
        MemoryPolicy whole = policy_;
        whole.working = WorkingSet::whole;
        if (!spec_.alpha) whole.alpha = 0;
        RM_TRY(const Prediction prediction, predictor_(whole));
        if (prediction.host_total() <= whole.host) return false;
        choice_.offer(whole, prediction);
        return true;
    }

    MemoryPolicy resident_of(std::int64_t chunk) const {
        MemoryPolicy resident = resident_policy(spec_, policy_.keep, policy_.keep_every);
        resident.chunk_tokens = chunk;
        return resident;
    }

    // The alphas of the present chunk, or the spec's. Returns whether shorter chunks need no
    // search: an alpha fits, or none can be the fastest.
    Result<bool> try_alphas() {
        if (!spec_.alpha) return AlphaSearch(predictor_, choice_, policy_, resident_).run();
        RM_TRY(const Prediction prediction, predictor_(policy_));
        return choice_.offer(policy_, prediction);
    }

    // From the usual chunk down to the first that fits; where the usual one fits, long ones too.
    Status try_chunks(const std::vector<std::int64_t>& chunks) {
        double last = 0;
        for (const std::int64_t chunk : chunks) {
            policy_.chunk_tokens = chunk;
            RM_TRY(const bool fits, try_alphas());
            if (fits && chunk == chunks.front()) return try_longer();
            if (fits) return {};
            RM_TRY(const double share, least_share());
            if (last > 0 && cannot_reach_limit(last, share)) return {};
            last = share;
        }
        return {};
    }
    // The share of the limits with as little kept as the spec allows.
    Result<double> least_share() {
        MemoryPolicy least = policy_;
        if (!spec_.alpha) least.alpha = 0;
        RM_TRY(const Prediction prediction, predictor_(least));
        return share_of_limits(least, prediction);
    }

    Status try_longer() {
        if (!predictor_.has_times() || spec_.chunk > 0 || !choice_.best()) return {};
        policy_.alpha = choice_.best()->policy.alpha;
        RM_TRY(const std::vector<std::int64_t> longer, predictor_.longer_chunks(policy_));
        for (const std::int64_t chunk : longer) {
            policy_.chunk_tokens = chunk;
            RM_TRY(const Prediction prediction, predictor_(policy_));
            const bool slower = choice_.best()->prediction.step <= prediction.step;
            if (slower && share_of_limits(policy_, prediction) <= 1) continue;
            RM_TRY([[maybe_unused]] const bool fits, try_alphas());
        }
        return {};
    }

    const MemorySpec& spec_;
    MemoryPolicy policy_;
    PolicyPredictor& predictor_;
    PolicyChoice& choice_;
    std::optional<Prediction> resident_;
};

Status try_places(const MemorySpec& spec, int keep_every, WorkingSet working,
                  PolicyPredictor& predictor, PolicyChoice& choice) {
    for (const MemoryPolicy& place : places_of(spec, keep_every)) {
        if (place.working != working) continue;
        // Windows only save device memory: whole layers that fit move less.
        if (working == WorkingSet::windows && choice.fits()) break;
        RM_RETURN_IF_ERROR(PlaceSearch(spec, place, predictor, choice).run());
        if (choice.decided()) break;
    }
    return {};
}

// In shorter tiles as long as the device is what is short, and they may save enough.
Status try_tiles(const MemorySpec& spec, int keep_every, WorkingSet working,
                 PolicyPredictor& predictor, PolicyChoice& choice) {
    MemorySpec tiled = spec;
    double last = 0;
    for (const std::int64_t tile : tiles_of(spec, predictor)) {
        tiled.tile = tile;
        RM_RETURN_IF_ERROR(try_places(tiled, keep_every, working, predictor, choice));
        if (choice.fits() || !choice.lacks_device()) break;
        const double share = choice.nearest_share();
        if (last > 0 && cannot_reach_limit(last, share)) break;
        last = share;
    }
    return {};
}

}  // namespace

struct MemorySearch::Parts {
    PolicyPredictor predictor;
    MemorySpec spec;
};

MemorySearch::MemorySearch(const RankSpec& rank, const StageShape& shape, const MemorySpec& spec,
                           const DryRunOptions& options)
    : parts_(new Parts{{rank, shape, options}, spec}) {}
MemorySearch::~MemorySearch() = default;

// Long tiles compute faster and are fewer.
Result<Prediction> MemorySearch::bound() {
    MemorySpec spec = parts_->spec;
    const std::int64_t tile = tiles_of(spec, parts_->predictor).front();
    const std::int64_t part = parts_->predictor.rank_tokens() / kLeastTiles;
    spec.tile = std::max(tile, part / tile * tile);
    spec.chunk = spec.tile;
    return parts_->predictor(resident_policy(spec, spec.keep.value_or(Keep::input_and_attention)));
}

Result<Bytes> MemorySearch::least_state() {
    MemorySpec spec = parts_->spec;
    spec.tile = tiles_of(spec, parts_->predictor).back();
    return parts_->predictor.state(
        resident_policy(spec, spec.keep.value_or(Keep::input_and_attention)));
}

// Inputs of every k-th layer take b / k of the host beside what all policies take: two predictions
// of few layers give the host's memory for the largest k.
Result<LeanMemory> MemorySearch::leanest() {
    MemorySpec spec = parts_->spec;
    for (const std::int64_t tile : tiles_of(spec, parts_->predictor)) {
        spec.tile = tile;
        if (tile <= kLeanTile) break;
    }
    const std::vector<int> groups = groups_of(spec);
    MemoryPolicy policy = places_of(spec, groups.front()).back();
    policy.alpha = spec.alpha.value_or(0);
    if (spec.chunk == 0) policy.chunk_tokens = std::max(spec.tile, policy.chunk_tokens);
    RM_TRY(const Prediction all, parts_->predictor.memory_of(policy));
    const LeanMemory memory{all.device_total(), all.host_total()};
    if (groups.size() < 2) return memory;
    policy.keep_every = 2;
    RM_TRY(const Prediction half, parts_->predictor.memory_of(policy));
    const std::int64_t inputs = 2 * (memory.host.value - half.host_total().value);
    return LeanMemory{memory.device, Bytes{memory.host.value - inputs + inputs / groups.back()}};
}

Result<MemoryChoice> MemorySearch::run(Seconds faster_than) {
    const MemorySpec& spec = parts_->spec;
    PolicyPredictor& predictor = parts_->predictor;
    if (!spec.device && !spec.host) {
        const MemoryPolicy policy = resolve_memory(spec);
        RM_TRY(Prediction prediction, predictor(policy));
        return MemoryChoice{ChosenMemory{policy, std::move(prediction)}, {}};
    }
    PolicyChoice choice(predictor.has_times(), faster_than);
    for (const int keep_every : groups_of(spec)) {
        for (const WorkingSet working : {WorkingSet::whole, WorkingSet::windows}) {
            RM_RETURN_IF_ERROR(try_tiles(spec, keep_every, working, predictor, choice));
            if (choice.fits()) return std::move(choice).take();
        }
    }
    return std::move(choice).take();
}

}  // namespace rm
