#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "topology/placement_cost.h"

// A placement for people, with names instead of indices; the same for a link file and for a running
// attempt.
namespace rm {

struct PhaseTime {
    Seconds time;
    std::string slowest;  // link n1 -> n2; empty: no shared resource limits it
    bool operator==(const PhaseTime&) const = default;
};

// One order of the ranks and the time of a step's communication in it.
struct OrderCost {
    std::vector<DeviceId> ranks;  // by rank
    Seconds total;
    std::vector<PhaseTime> phases;  // as PlacementReport::traffic
    bool operator==(const OrderCost&) const = default;
};

// A group of a phase and its bottleneck.
struct GroupReport {
    int phase = 0;  // index into the traffic
    std::vector<int> ranks;
    // The flow of the group that takes longest while all groups of the phase communicate, and the
    // resource that it waits for.
    Flow slowest;
    std::string resource;  // link n1 -> n2; "limit of one flow"
    Seconds time;          // without latency
    bool operator==(const GroupReport&) const = default;
};

struct HostOfNode {
    NodeId node;
    std::string hostname;
    std::string address;  // where its ranks listen for each other
    bool operator==(const HostOfNode&) const = default;
};

// A link far below its baseline.
struct DegradedLink {
    NodeId from;
    NodeId to;
    GbitPerSec bandwidth;
    GbitPerSec baseline;
    WallTime since;
    bool operator==(const DegradedLink&) const = default;
};

struct PlacementReport {
    Mesh mesh;
    int zero = 0;
    std::vector<HostOfNode> hosts;  // of nodes with ranks, if known
    OrderCost placed;
    bool predicted = false;  // false: only the ranks of `placed` are set, nothing below
    StepTraffic traffic;
    OrderCost registration;              // node by node as they registered
    OrderCost by_node;                   // node by node as their names are sorted
    std::vector<GroupReport> groups;     // by phase, then the slowest first
    std::vector<DegradedLink> degraded;  // links that the ranks use
    bool operator==(const PlacementReport&) const = default;
};

}  // namespace rm
