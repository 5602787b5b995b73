#pragma once

#include <cstdint>
#include <vector>

#include "engine/dry_run/policy_choice.h"

// The memory policies that a search tries, within what a job's spec leaves open.
namespace rm {

inline constexpr std::int64_t kLeanTile = 8192;  // tokens, where memory matters more than speed

// The best first: from long to short ones. Without a profile, one.
std::vector<std::int64_t> tiles_of(const MemorySpec& spec, const PolicyPredictor& predictor);
// The usual one first, then shorter ones. The spec has a tile.
std::vector<std::int64_t> chunks_of(const MemorySpec& spec, const PolicyPredictor& predictor);
// The places to keep activations, in the order of choose_memory; alpha and the chunk stay open.
std::vector<MemoryPolicy> places_of(const MemorySpec& spec, int keep_every);
// How many layers share a kept input, until something fits: more cost a forward pass again.
std::vector<int> groups_of(const MemorySpec& spec);

// With everything on the device, whatever its size.
MemoryPolicy resident_policy(const MemorySpec& spec, Keep keep, int keep_every = 1);
// A step that no other of the same keep and groups of layers is much faster than: everything on the
// device, whatever its size, and long tiles, which compute faster and are fewer.
MemoryPolicy fastest_policy(MemorySpec spec, const PolicyPredictor& predictor, Keep keep,
                            int keep_every);
// Whole layers that take least of the device, whether the spec allows them or not: the host keeps
// each layer's input alone, and the chunk is one tile. The spec has a tile.
MemoryPolicy leanest_whole(const MemorySpec& spec);

}  // namespace rm
