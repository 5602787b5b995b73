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

// What of a layer is kept for its backward pass besides `alpha`: its input, and attention's output
// unless attention is to be done again.
enum class Keep { input, input_and_attention };
std::string_view to_string(Keep keep);  // input, input+attention
Result<Keep> parse_keep(std::string_view text);

// Where lies what is kept from the forward to the backward pass.
enum class KeptPlace { device, host };
std::string_view to_string(KeptPlace place);
Result<KeptPlace> parse_kept_place(std::string_view text);

// What the layer at hand works on: all its tokens at once, or windows of a chunk each, the rest on
// the host. Windows want KeptPlace::host and a ring and ulysses of one.
enum class WorkingSet { whole, windows };
std::string_view to_string(WorkingSet working);
Result<WorkingSet> parse_working_set(std::string_view text);

// Whether buffers of a step that do not live together may share bytes.
enum class ArenaReuse { off, on };
std::string_view to_string(ArenaReuse reuse);  // separate, reuse
Result<ArenaReuse> parse_arena_reuse(std::string_view text);

// How a step uses memory: nothing here changes a result, except tile_tokens within tolerance.
struct MemoryPolicy {
    std::int64_t tile_tokens = 512;
    std::int64_t chunk_tokens = 4096;  // a multiple of tile_tokens
    Keep keep = Keep::input_and_attention;
    // The share of tiles whose other activations are kept; those of the rest are computed again
    // (MEMO, arXiv:2407.12117).
    double alpha = 1;
    KeptPlace kept = KeptPlace::device;
    WorkingSet working = WorkingSet::whole;
    int prefetch = 1;  // chunks that are brought before they are needed
    ArenaReuse reuse = ArenaReuse::on;
    Bytes device;  // the most that a rank may take of its device, all in all; 0: no limit
    Bytes host;    // the most that it may take of the host, state there included; 0: no limit
    bool operator==(const MemoryPolicy&) const = default;
};
// tile 512, chunk 4096, keeps input+attention, alpha 0.3, kept on the host, in windows, prefetch 1,
// and separate buffers and limits where there are any.
std::string to_string(const MemoryPolicy& policy);

// A choice between two that the plan makes unless the job does.
enum class Switch { automatic, off, on };
std::string_view to_string(Switch state);  // auto, off, on

// `auto` is a word beside those of the type; nothing stands for it.
std::string_view to_string(const std::optional<Keep>& keep);
Result<std::optional<Keep>> parse_keep_or_auto(std::string_view text);
Result<Switch> parse_switch(std::string_view text);

constexpr std::int64_t kTileUnit = 64;  // tokens; a tile is a multiple
constexpr int kMostPrefetch = 4;

struct MemorySpec {
    std::int64_t tile = 512;             // tokens; arithmetic
    std::int64_t chunk = 0;              // tokens, a multiple of tile; 0: chosen by the plan
    std::optional<Keep> keep;            // nothing: chosen by the plan
    std::optional<double> alpha;         // 0 to 1; nothing: chosen by the plan
    Switch offload = Switch::automatic;  // on: KeptPlace::host
    Switch windows = Switch::automatic;  // on: WorkingSet::windows
    int prefetch = 1;                    // 0 to kMostPrefetch
    ArenaReuse arena = ArenaReuse::on;
    std::optional<Bytes> device;  // limit of all that a rank takes of its device; nothing: none
    std::optional<Bytes> host;    // limit of all that it takes of the host; nothing: none
    bool operator==(const MemorySpec&) const = default;
};

// Ranges and combinations; `parallel` is null where the mesh is automatic. The error begins with
// the key: memory.alpha.
Status check_memory(const MemorySpec& memory, const Mesh* parallel);

// The policy of a valid spec: what is given as given, windows with what is kept on the host. What
// is left to the plan: a chunk of 4,096 tokens (a tile if that is more), input+attention, alpha 1,
// nothing on the host, no windows.
MemoryPolicy resolve_memory(const MemorySpec& spec);

}  // namespace rm
