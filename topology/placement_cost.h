#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/mesh.h"
#include "topology/routes.h"

// What a placement costs: the predicted time of a step's communication on measured links. The one
// function that solver, validator and explanation share.
namespace rm {

enum class Pattern { ring, all_to_all };
std::string_view to_string(Pattern pattern);

// One kind of communication of a step. All groups of the axis communicate at once.
//  * ring: every rank sends `bytes` to the next of its group, in `messages` steps one after the
//    other (ring_shift, reduce_scatter, all_gather, all_reduce of docs/communication.md).
//  * all_to_all: every rank sends `bytes` in equal parts to the G-1 others of its group at once,
//    `messages` times.
// Axis `data` stands for the `gradient` group (data x ring x ulysses in rank order), round which
// gradients and weights go whatever the size of `data`; the others for the groups of the mesh. Of
// a double ring `bytes` go round the inner rings and at the same time `outer_bytes` round the
// outer ones.
struct CommPhase {
    Axis axis = Axis::ring;
    Pattern pattern = Pattern::ring;
    Bytes bytes;  // sent by one rank in a step
    std::int64_t messages = 1;
    Bytes outer_bytes = {};
    bool operator==(const CommPhase&) const = default;
};
// The phases of a step; those that the mesh has no groups for cost nothing.
using StepTraffic = std::vector<CommPhase>;

// Bytes and numbers of messages are 0 or more. The error names the phase.
Status validate(const StepTraffic& traffic);

// The groups of an axis, each in the order of its ring, by their first rank.
std::vector<std::vector<int>> groups_of(const Mesh& mesh, Axis axis);

// What one rank sends another in a phase, all its messages together.
struct Flow {
    int from = 0;  // rank
    int to = 0;
    std::int64_t bytes = 0;  // parts of an all_to_all rounded up
    bool operator==(const Flow&) const = default;
};
std::vector<Flow> flows_of(const Mesh& mesh, const CommPhase& phase);

// A phase takes
//     max over resources (bytes over it / what it carries), max over flows (bytes / flow limit),
//     whichever is more, + messages * max over flows (latency).
// Flows of a phase are equal (but for double rings), and for equal transfers that is how long they
// take together (tests/topology/transfers.h): under max-min fairness the last to finish are those
// of the resource with the least share, and no byte of others is in their way. For unequal ones it
// is the least time that any sharing can reach.
struct PhaseCost {
    Seconds time;
    int slowest = -1;  // resource that takes longest; -1: none, or a flow limit
};

struct PlacementCost {
    Seconds total;  // phases do not overlap: their sum
    std::vector<PhaseCost> phases;
    // Breaks ties: the sum over flows of the time each would take if it had its way for itself, so
    // that bytes on slow links count most.
    Seconds link_time;
};

// `placement` is indexed by rank; its devices are in the graph, each there once (check_placement).
PlacementCost placement_cost(const Routes& routes, const Mesh& mesh, const StepTraffic& traffic,
                             std::span<const Endpoint> placement);

// One device of the graph for each rank, none twice, none of `forbidden`.
Status check_placement(const LinkGraph& graph, const Mesh& mesh,
                       std::span<const Endpoint> placement, std::span<const Endpoint> forbidden);

}  // namespace rm
