#include "spec/memory_policy.h"

#include <algorithm>

namespace rm {
namespace {

constexpr std::int64_t kPreferredChunk = 4096;  // tokens

Status check_sizes(const MemorySpec& memory) {
    const std::int64_t tile = memory.tile_or_usual();
    if (tile < kTileUnit || tile % kTileUnit != 0) {
        return invalid_argument("memory.tile: {} must be a positive multiple of {} tokens, or auto",
                                memory.tile, kTileUnit);
    }
    if (memory.chunk < 0 || memory.chunk % tile != 0) {
        return invalid_argument("memory.chunk: {} must be a multiple of the tile, {} tokens",
                                memory.chunk, tile);
    }
    if (memory.alpha && !(*memory.alpha >= 0 && *memory.alpha <= 1)) {
        return invalid_argument("memory.alpha: {} must be between 0 and 1, or auto", *memory.alpha);
    }
    if (memory.prefetch < 0 || memory.prefetch > kMostPrefetch) {
        return invalid_argument("memory.prefetch: {} chunks; must be 0 to {}", memory.prefetch,
                                kMostPrefetch);
    }
    if (memory.keep_every < 0 || memory.keep_every > kMostKeepEvery) {
        return invalid_argument("memory.keep_every: {} layers; must be 1 to {}", memory.keep_every,
                                kMostKeepEvery);
    }
    return {};
}

Status check_limit(std::string_view key, const std::optional<Bytes>& limit) {
    if (!limit || limit->value > 0) return {};
    return invalid_argument(
        "memory.{}: {} must be a positive size such as 40GiB; without the key "
        "there is no limit",
        key, exact_text(*limit));
}

Status check_precision(const MemorySpec& memory) {
    const bool rounds = memory.keep_precision != KeptPrecision::compute;
    if (!rounds || memory.offload != Switch::off) return {};
    return invalid_argument(
        "memory.keep_precision: {} is for what is kept on the host, and memory.offload is off; set "
        "that to on or auto, or this to compute",
        to_string(memory.keep_precision));
}

Status check_windows(const MemorySpec& memory) {
    if (memory.windows != Switch::on) return {};
    if (memory.offload == Switch::off) {
        return invalid_argument(
            "memory.windows: on needs what is kept on the host, and "
            "memory.offload is off; set it to on or auto");
    }
    return {};
}

}  // namespace

std::string to_string(const MemoryPolicy& policy) {
    const auto limit = [](std::string_view of, Bytes most) {
        return most.value > 0 ? format(", {} at most {}", of, exact_text(most)) : "";
    };
    const auto fewer =
        policy.keep_every > 1 ? format(" of every {} layers", policy.keep_every) : std::string();
    const auto rounded = policy.keep_precision != KeptPrecision::compute
                             ? format(" in {}", to_string(policy.keep_precision))
                             : std::string();
    return format(
        "tile {}, chunk {}, keeps {}{}, alpha {}, kept on the {}{}, {}, prefetch {}{}{}{}",
        policy.tile_tokens, policy.chunk_tokens, to_string(policy.keep), fewer, policy.alpha,
        to_string(policy.kept), rounded,
        policy.working == WorkingSet::windows ? "in windows" : "layers whole", policy.prefetch,
        policy.reuse == ArenaReuse::off ? ", buffers separate" : "", limit("device", policy.device),
        limit("host", policy.host));
}

Status check_memory(const MemorySpec& memory) {
    RM_RETURN_IF_ERROR(check_sizes(memory));
    RM_RETURN_IF_ERROR(check_limit("device", memory.device));
    RM_RETURN_IF_ERROR(check_limit("host", memory.host));
    RM_RETURN_IF_ERROR(check_precision(memory));
    return check_windows(memory);
}

MemoryPolicy resolve_memory(const MemorySpec& spec) {
    const bool windows = spec.windows == Switch::on;
    const bool offload = spec.offload == Switch::on || windows;
    const std::int64_t tile = spec.tile_or_usual();
    const std::int64_t chunk = std::max(tile, kPreferredChunk / tile * tile);
    return {.tile_tokens = tile,
            .chunk_tokens = spec.chunk > 0 ? spec.chunk : chunk,
            .keep = spec.keep.value_or(Keep::input_and_attention),
            .alpha = spec.alpha.value_or(1),
            .kept = offload ? KeptPlace::host : KeptPlace::device,
            .keep_every = std::max(1, spec.keep_every),
            .keep_precision = spec.keep_precision,
            .working = windows ? WorkingSet::windows : WorkingSet::whole,
            .prefetch = spec.prefetch,
            .reuse = spec.arena,
            .device = spec.device.value_or(Bytes{}),
            .host = spec.host.value_or(Bytes{})};
}

}  // namespace rm
