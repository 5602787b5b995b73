#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mesh.h"
#include "base/result.h"
#include "base/units.h"

// How a step uses memory: what a job asks for (MemorySpec) and what was decided (MemoryPolicy).
namespace rm {

// Activations of a layer that are kept for its backward pass besides the share `alpha`: its input,
// and attention's output unless attention is recomputed.
enum class Keep { input, input_and_attention };
std::string_view to_string(Keep keep);  // input, input+attention
Result<Keep> parse_keep(std::string_view text);

// Where activations kept from the forward to the backward pass live.
enum class KeptPlace { device, host };
std::string_view to_string(KeptPlace place);
Result<KeptPlace> parse_kept_place(std::string_view text);

// The tokens that a layer works on at a time: all of them, or windows of one chunk each while the
// rest stays on the host. Windows need KeptPlace::host and ring and ulysses sizes of 1.
enum class WorkingSet { whole, windows };
std::string_view to_string(WorkingSet working);
Result<WorkingSet> parse_working_set(std::string_view text);

// Whether buffers of a step with disjoint lifetimes may share bytes.
enum class ArenaReuse { off, on };
std::string_view to_string(ArenaReuse reuse);  // separate, reuse
Result<ArenaReuse> parse_arena_reuse(std::string_view text);

// How a step uses memory: nothing here changes a result, except tile_tokens within tolerance.
struct MemoryPolicy {
    std::int64_t tile_tokens = 512;
    std::int64_t chunk_tokens = 4096;  // a multiple of tile_tokens
    Keep keep = Keep::input_and_attention;
    // The share of tiles whose other activations are kept; those of the rest are recomputed (MEMO,
    // arXiv:2407.12117).
    double alpha = 1;
    KeptPlace kept = KeptPlace::device;
    WorkingSet working = WorkingSet::whole;
    int prefetch = 1;  // chunks fetched before they are needed
    ArenaReuse reuse = ArenaReuse::on;
    Bytes device;  // limit on all device memory of a rank; 0: none
    Bytes host;    // limit on its host memory, state there included; 0: none
    bool operator==(const MemoryPolicy&) const = default;
};
// tile 512, chunk 4096, keeps input+attention, alpha 0.3, kept on the host, in windows, prefetch 1;
// separate buffers and limits are added if set.
std::string to_string(const MemoryPolicy& policy);

// An on/off choice that the planner makes unless the job does.
enum class Switch { automatic, off, on };
std::string_view to_string(Switch state);  // auto, off, on

// Accept `auto` besides the words of the type; nullopt stands for it.
std::string_view to_string(const std::optional<Keep>& keep);
Result<std::optional<Keep>> parse_keep_or_auto(std::string_view text);
Result<Switch> parse_switch(std::string_view text);

constexpr std::int64_t kTileUnit = 64;  // tokens; tiles are multiples of it
constexpr int kMostPrefetch = 4;

struct MemorySpec {
    std::int64_t tile = 512;             // tokens; arithmetic
    std::int64_t chunk = 0;              // tokens, a multiple of tile; 0: chosen by the plan
    std::optional<Keep> keep;            // nullopt: chosen by the plan
    std::optional<double> alpha;         // 0 to 1; nullopt: chosen by the plan
    Switch offload = Switch::automatic;  // on: KeptPlace::host
    Switch windows = Switch::automatic;  // on: WorkingSet::windows
    int prefetch = 1;                    // 0 to kMostPrefetch
    ArenaReuse arena = ArenaReuse::on;
    std::optional<Bytes> device;  // limit on all device memory of a rank; nullopt: none
    std::optional<Bytes> host;    // limit on its host memory; nullopt: none
    bool operator==(const MemorySpec&) const = default;
};

// Checks ranges and combinations; `parallel` is null if the mesh is automatic. The error begins
// with the key, such as memory.alpha.
Status check_memory(const MemorySpec& memory, const Mesh* parallel);

// The policy of a valid spec: given values unchanged; windows imply that kept activations live on
// the host. Values left to the plan: a chunk of 4,096 tokens (a tile if that is more),
// input+attention, alpha 1, nothing on the host, no windows.
MemoryPolicy resolve_memory(const MemorySpec& spec);

}  // namespace rm
