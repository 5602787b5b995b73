#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "spec/mesh.h"
#include "topology/routes.h"

// The cost of a placement: the predicted time of a step's communication on measured links, less
// what compute hides of it, if that is known. Solver,
// validator and explanation share this one function.
namespace rm {

enum class Pattern { ring, all_to_all };
constexpr auto vocabulary_of(Pattern) {
    return vocabulary<Pattern>("pattern",
                               {{Pattern::ring, "ring"}, {Pattern::all_to_all, "all_to_all"}});
}

// One kind of communication of a step. All groups of the axis communicate at once.
//  * ring: every rank sends `bytes` to the next of its group, in `messages` steps one after the
//    other (ring_shift, reduce_scatter, all_gather, all_reduce of docs/communication.md).
//  * all_to_all: every rank sends `bytes` in equal parts to the G-1 others of its group at once,
//    `messages` times.
// Axis `data` stands for the `gradient` group (data x ring x ulysses in rank order), around which
// gradients and weights travel whatever the size of `data`; the other axes stand for the groups of
// the mesh. In a double ring, `bytes` travel around the inner rings while `outer_bytes` travel
// around the outer ones.
struct CommPhase {
    Axis axis = Axis::ring;
    Pattern pattern = Pattern::ring;
    Bytes bytes;  // sent by one rank in a step
    std::int64_t messages = 1;
    Bytes outer_bytes = {};
    Seconds hidden = {};  // of its time that compute hides; the rest counts
    bool operator==(const CommPhase&) const = default;
};
// The phases of a step; phases for which the mesh has no groups cost nothing.
using StepTraffic = std::vector<CommPhase>;

// Bytes and numbers of messages are 0 or more. The error names the phase.
Status validate(const StepTraffic& traffic);

// The part of a phase's time that counts.
inline Seconds exposed(const CommPhase& phase, Seconds time) {
    return {std::max(0.0, time.value - phase.hidden.value)};
}

// The groups of an axis, each in ring order, sorted by first rank.
std::vector<std::vector<int>> groups_of(const Mesh& mesh, Axis axis);

// Data that one rank sends another in a phase, all its messages together.
struct Flow {
    int from = 0;  // rank
    int to = 0;
    std::int64_t bytes = 0;  // parts of an all_to_all rounded up
    bool operator==(const Flow&) const = default;
};
std::vector<Flow> flows_of(const Mesh& mesh, const CommPhase& phase);
// The flows of one group.
std::vector<Flow> flows_of(const std::vector<int>& group, Pattern pattern, Bytes bytes);

// A phase takes
//     max over resources (bytes over it / what it carries), max over flows (bytes / flow limit),
//     whichever is more, + messages * max over flows (latency).
// Flows of a phase are equal (except in double rings), and equal transfers together take exactly
// that long (topology/transfers.h): under max-min fairness the flows of the resource with the
// smallest share finish last, and no other bytes delay them. For unequal flows it is the least time
// that any sharing can reach.
struct PhaseCost {
    Seconds time;      // hidden or not
    int slowest = -1;  // resource that takes longest; -1: none, or a flow limit
};

struct PlacementCost {
    Seconds total;  // what counts of the phases, which do not overlap
    std::vector<PhaseCost> phases;
    // Breaks ties: the sum over flows of the time each would take alone, so that bytes on slow
    // links count most.
    Seconds link_time;
};

// The cost of flows that begin together and send their bytes in so many messages, one after the
// other.
PhaseCost flows_cost(const Routes& routes, std::span<const Flow> flows, std::int64_t messages,
                     std::span<const Endpoint> placement);

// `placement` is indexed by rank; its devices are in the graph and distinct (check_placement).
PlacementCost placement_cost(const Routes& routes, const Mesh& mesh, const StepTraffic& traffic,
                             std::span<const Endpoint> placement);

// Checks that each rank has its own device of the graph, and none of `forbidden`.
Status check_placement(const LinkGraph& graph, const Mesh& mesh,
                       std::span<const Endpoint> placement, std::span<const Endpoint> forbidden);

}  // namespace rm
