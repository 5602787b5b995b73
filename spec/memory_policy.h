#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "spec/mesh.h"

// How a step uses memory: what a job asks for (MemorySpec) and what was decided (MemoryPolicy).
namespace rm {

// Activations of a layer that are kept for its backward pass besides the share `alpha`: its input,
// and attention's output unless attention is recomputed.
enum class Keep { input, input_and_attention };
constexpr auto vocabulary_of(Keep) {
    return vocabulary<Keep>(
        "keep", {{Keep::input, "input"}, {Keep::input_and_attention, "input+attention"}});
}

// Where activations kept from the forward to the backward pass live.
enum class KeptPlace { device, host };
constexpr auto vocabulary_of(KeptPlace) {
    return vocabulary<KeptPlace>("kept",
                                 {{KeptPlace::device, "device"}, {KeptPlace::host, "host"}});
}

// The tokens that a layer works on at a time: all of them, or windows of one chunk each while the
// rest stays on the host. Windows need KeptPlace::host.
enum class WorkingSet { whole, windows };
constexpr auto vocabulary_of(WorkingSet) {
    return vocabulary<WorkingSet>("working",
                                  {{WorkingSet::whole, "whole"}, {WorkingSet::windows, "windows"}});
}

// The type in which kept inputs of layers lie on the host. fp8: e4m3, each token with its own
// factor, the power of two that just keeps it in range. Only the backward pass reads what was
// rounded.
enum class KeptPrecision { compute, bf16, fp8 };
constexpr auto vocabulary_of(KeptPrecision) {
    return vocabulary<KeptPrecision>("keep_precision", {{KeptPrecision::compute, "compute"},
                                                        {KeptPrecision::bf16, "bf16"},
                                                        {KeptPrecision::fp8, "fp8"}});
}

// Whether buffers of a step with disjoint lifetimes may share bytes.
enum class ArenaReuse { off, on };
constexpr auto vocabulary_of(ArenaReuse) {
    return vocabulary<ArenaReuse>("arena",
                                  {{ArenaReuse::on, "reuse"}, {ArenaReuse::off, "separate"}});
}

// How a step uses memory: nothing here changes a result, except tile_tokens within tolerance, and
// keep_precision, which rounds what the backward pass reads.
struct MemoryPolicy {
    std::int64_t tile_tokens = 512;
    std::int64_t chunk_tokens = 4096;  // a multiple of tile_tokens
    Keep keep = Keep::input_and_attention;
    // The share of tiles whose other activations are kept; those of the rest are recomputed (MEMO,
    // arXiv:2407.12117).
    double alpha = 1;
    KeptPlace kept = KeptPlace::device;
    // Keeps the inputs of layers 0, k, 2k, ... only; a backward pass runs the others again.
    int keep_every = 1;
    KeptPrecision keep_precision = KeptPrecision::compute;  // of inputs on the host
    WorkingSet working = WorkingSet::whole;
    int prefetch = 1;  // chunks fetched before they are needed
    ArenaReuse reuse = ArenaReuse::on;
    Bytes device;  // limit on all device memory of a rank; 0: none
    Bytes host;    // limit on its host memory, state there included; 0: none
    bool operator==(const MemoryPolicy&) const = default;
};
// tile 512, chunk 4096, keeps input+attention, alpha 0.3, kept on the host, in windows, prefetch 1;
// every how many layers, a precision, separate buffers and limits are added if set.
std::string to_string(const MemoryPolicy& policy);

// An on/off choice that the planner makes unless the job does.
enum class Switch { automatic, off, on };
constexpr auto vocabulary_of(Switch) {
    return vocabulary<Switch>(
        "switch", {{Switch::automatic, "auto"}, {Switch::on, "on"}, {Switch::off, "off"}});
}

// nullopt stands for `auto`.
constexpr auto vocabulary_of(const std::optional<Keep>&) {
    return vocabulary<std::optional<Keep>>("keep",
                                           {{std::nullopt, "auto"},
                                            {Keep::input, "input"},
                                            {Keep::input_and_attention, "input+attention"}});
}

constexpr std::int64_t kTileUnit = 64;  // tokens; tiles are multiples of it
constexpr std::int64_t kUsualTile = 512;
constexpr int kMostPrefetch = 4;
constexpr int kMostKeepEvery = 64;

struct MemorySpec {
    std::int64_t tile = 0;               // tokens; arithmetic; 0: chosen by the plan
    std::int64_t chunk = 0;              // tokens, a multiple of tile; 0: chosen by the plan
    std::optional<Keep> keep;            // nullopt: chosen by the plan
    std::optional<double> alpha;         // 0 to 1; nullopt: chosen by the plan
    Switch offload = Switch::automatic;  // on: KeptPlace::host
    Switch windows = Switch::automatic;  // on: WorkingSet::windows
    int keep_every = 0;                  // layers, 1 to kMostKeepEvery; 0: chosen by the plan
    KeptPrecision keep_precision = KeptPrecision::compute;
    int prefetch = 1;  // 0 to kMostPrefetch
    ArenaReuse arena = ArenaReuse::on;
    std::optional<Bytes> device;  // limit on all device memory of a rank; nullopt: none
    std::optional<Bytes> host;    // limit on its host memory; nullopt: none
    bool operator==(const MemorySpec&) const = default;

    std::int64_t tile_or_usual() const { return tile > 0 ? tile : kUsualTile; }
};

// Checks ranges and combinations. The error begins with the key, such as memory.alpha.
Status check_memory(const MemorySpec& memory);

// The policy of a valid spec: given values unchanged; windows imply that kept activations live on
// the host. Values left to the plan: a tile of 512 tokens, a chunk of 4,096 (a tile if that is
// more), input+attention, alpha 1, of every layer, nothing on the host, no windows.
MemoryPolicy resolve_memory(const MemorySpec& spec);

}  // namespace rm
