#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/survey/survey_run.h"
#include "topology/links.h"

namespace rm {

using LinkEnds = std::pair<NodeId, NodeId>;  // from, to

// The measured state of one direction between two nodes.
struct LinkState {
    GbitPerSec flow;       // one flow, alone
    GbitPerSec bandwidth;  // the best number of flows, alone
    Seconds latency;
    Seconds jitter;
    double loss = 0;  // of the last sample
    WallTime measured;
    bool alone = false;                // false: beside others; its rate alone is modelled
    GbitPerSec baseline;               // of `bandwidth`: the median of its last good surveys
    std::optional<WallTime> degraded;  // when it fell far below its baseline
    std::vector<double> good;          // the last good bandwidths, oldest first
    bool operator==(const LinkState&) const = default;
};

// A link that has fallen far below its baseline or recovered.
struct LinkDrift {
    LinkEnds ends;
    GbitPerSec baseline;
    GbitPerSec now;
    bool degraded = false;  // false: restored
    bool operator==(const LinkDrift&) const = default;
};

// A group of nodes and the capacity they share towards all others.
struct LinkGroup {
    std::vector<NodeId> nodes;
    GbitPerSec up;  // 0: nothing slower than the nodes themselves was seen
    GbitPerSec down;
    bool operator==(const LinkGroup&) const = default;
};

// A node's results in the last survey that included it.
struct SurveyedNode {
    GbitPerSec egress;
    GbitPerSec ingress;
    int num_devices = 1;
    std::vector<InsideSample> inside;
    std::vector<BridgeSample> bridges;
    bool operator==(const SurveyedNode&) const = default;
};

// The results of all surveys up to the last one; kept in telemetry.db.
struct LinkBook {
    std::map<LinkEnds, LinkState> links;
    std::vector<LinkGroup> groups;
    std::map<NodeId, SurveyedNode> nodes;

    // Replaces the results of the surveyed links; returns the links that drifted.
    std::vector<LinkDrift> apply(const SurveyRun& run, WallTime now);
    // Whether the rate is far below the link's baseline and worth a second look.
    bool is_suspect(const NodeId& from, const NodeId& to, GbitPerSec rate) const;
    // The graph of the surveyed ones of `nodes`, in this order.
    LinkGraph graph(const std::vector<NodeId>& nodes) const;
    // The same without its network: nodes, interiors and trunks.
    LinkGraph outline(const std::vector<NodeId>& nodes) const;
    // One row of the network: from this node of the outline to each of its nodes. A pair that no
    // survey measured gets the capacity of its ends, at the latency of the slowest link that was
    // measured.
    std::vector<Link> row(const LinkGraph& outline, int from) const;
    std::vector<LinkEnds> degraded() const;
    bool operator==(const LinkBook&) const = default;

    // An alarm is raised below the first share of the baseline and cleared above the second.
    static constexpr double kDegraded = 0.7;
    static constexpr double kRestored = 0.85;
    static constexpr std::size_t kBaselineSurveys = 5;
};

}  // namespace rm
