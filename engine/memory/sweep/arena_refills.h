#pragma once

#include <cstdint>
#include <span>
#include <vector>

// One moment of a sweep through an arena: blocks end and leave holes, others begin and take them.
namespace rm {

using ArenaItems = std::vector<int>;  // blocks and holes, by index

// Blocks that begin together take the room of holes; what is left is a new hole.
struct Refill {
    ArenaItems room;  // lies side by side
    ArenaItems blocks;
    double evidence = 0;  // that they belong together, by their sizes: a natural logarithm
    bool operator==(const Refill&) const = default;
};

struct ArenaMoment {
    std::span<const std::int64_t> sizes;  // of every item
    std::int64_t unit = 1;                // divides the size of every block
    ArenaItems fresh;                     // blocks that end
    ArenaItems old;                       // holes, those near the fresh ones first
    std::size_t num_within = 0;           // of these: may lie between the fresh ones
    std::vector<ArenaItems> families;     // sets of fresh ones and holes that lie close together
    ArenaItems blocks;                    // begin
};

// Some of the ways in which all blocks of the moment may find room.
std::vector<std::vector<Refill>> list_refills(ArenaMoment moment);

bool contains(const ArenaItems& items, int item);
// The items that are not among the others.
ArenaItems without(const ArenaItems& items, const ArenaItems& others);
ArenaItems both(ArenaItems items, const ArenaItems& others);

}  // namespace rm
