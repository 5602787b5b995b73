#pragma once

#include <string_view>
#include <vector>

#include "base/words.h"
#include "planner/placement/problem.h"

// Large problems with a good answer that is known: the graph is made around a hidden placement, its
// nodes are then listed in one random order and named in another. For tests and `ring-bench
// placement`.
namespace rm {

enum class Planted {
    racks,         // racks of 32 nodes behind uplinks that carry a few nodes' worth; rings of 64
    slow_nodes,    // one NIC in 16 is ten times slower; the mesh has room to leave them out
    hidden_ring,   // one cycle of fast links in a random slow matrix, and misleading ones
    hidden_rings,  // the same with a ring for each of several data ranks, and a way between them
    islands,       // devices in two islands whose numbers alternate, two tensor groups a node
};
constexpr Planted kPlanted[] = {Planted::racks, Planted::slow_nodes, Planted::hidden_ring,
                                Planted::hidden_rings, Planted::islands};
constexpr auto vocabulary_of(Planted) {
    return vocabulary<Planted>("planted", {{Planted::racks, "racks"},
                                           {Planted::slow_nodes, "slow nodes"},
                                           {Planted::hidden_ring, "hidden ring"},
                                           {Planted::hidden_rings, "hidden rings"},
                                           {Planted::islands, "islands"}});
}

struct PlantedProblem {
    LinkGraph graph;
    Mesh mesh;
    StepTraffic traffic;
    std::vector<Endpoint> hidden;  // by rank
};

// Plants a problem of `num_nodes` nodes (a multiple of 64) with 8 devices each.
PlantedProblem plant(Planted kind, int num_nodes, std::uint64_t seed);

}  // namespace rm
