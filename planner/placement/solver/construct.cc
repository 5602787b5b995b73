#include "planner/placement/solver/construct.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "planner/placement/solver/tour.h"

namespace rm {
namespace {

// An edge costs its time to the sixth power: one slow edge outweighs many fast ones, because a ring
// is only as fast as its slowest link.
constexpr double kPower = 6;
// A path through a trunk costs this factor more than an equal one inside a rack.
constexpr double kTrunkPenalty = 1.1;
constexpr float kMostCost = 1e30F;

struct Nodes {
    std::vector<int> list;  // nodes with usable devices
    int devices_each = 1;   // of the node size that holds most devices
};

Nodes nodes_of(const DeviceTable& devices) {
    Nodes nodes;
    std::map<int, int> count;
    for (int node = 0; node < devices.num_nodes(); ++node) {
        const int here = static_cast<int>(devices.usable_of(node).size());
        if (here == 0) continue;
        nodes.list.push_back(node);
        ++count[here];
    }
    int most = 0;
    for (const auto& [here, num] : count) {
        if (num * here >= most) {
            most = num * here;
            nodes.devices_each = here;
        }
    }
    return nodes;
}

// Seconds per byte between nodes on an idle network, plus the share of the latency.
EdgeCosts edge_costs(const Routes& routes, const DeviceTable& devices,
                     const std::vector<int>& nodes, double latency_share) {
    const int n = static_cast<int>(nodes.size());
    EdgeCosts costs(n);
    float least = std::numeric_limits<float>::max();
    for (int a = 0; a < n; ++a) {
        const Endpoint from = devices.usable_of(nodes[usize(a)])[0];
        for (int b = 0; b < n; ++b) {
            if (a == b) continue;
            const Route route = routes.route(from, devices.usable_of(nodes[usize(b)])[0]);
            const double trunks = std::pow(kTrunkPenalty, static_cast<double>(route.trunks.size()));
            const double time = (1 / routes.alone(route) + latency_share * route.latency) * trunks;
            costs.at(a, b) = static_cast<float>(time);
            least = std::min(least, costs.at(a, b));
        }
    }
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b) {
            const double ratio = costs(a, b) / least;
            costs.at(a, b) = std::min(kMostCost, static_cast<float>(std::pow(ratio, kPower)));
        }
    }
    return costs;
}

// Messages per byte of a step: the weight of latency against time per byte.
double latency_share_of(const StepTraffic& traffic) {
    double bytes = 0;
    double messages = 0;
    for (const CommPhase& phase : traffic) {
        bytes += static_cast<double>(phase.bytes.value);
        messages += static_cast<double>(phase.messages);
    }
    return bytes > 0 ? messages / bytes : 0;
}

// Numbers of consecutive nodes that may form a closed ring: those of a ring, of a tensor group that
// does not fit into a node, and of all ranks.
std::set<int> cycle_lengths(const Mesh& mesh, int devices_each, int num_blocks) {
    const int unit = mesh.size(Axis::ulysses) * mesh.size(Axis::tensor);
    std::set<int> lengths = {num_blocks};
    for (const int ranks : {unit * mesh.inner_ring(), unit * mesh.size(Axis::ring), unit}) {
        if (ranks % devices_each != 0) continue;
        const int blocks = ranks / devices_each;
        if (blocks >= 2 && num_blocks % blocks == 0) lengths.insert(blocks);
    }
    return lengths;
}

bool gradients_move(const StepTraffic& traffic) {
    return std::any_of(traffic.begin(), traffic.end(), [](const CommPhase& phase) {
        return phase.axis == Axis::data && phase.bytes.value > 0;
    });
}

// The nodes of `list` in the given order, followed by the nodes that `order` omits.
std::vector<int> with_rest(const std::vector<int>& order, const std::vector<int>& list) {
    std::vector<int> nodes;
    std::vector<bool> taken(list.size(), false);
    for (const int i : order) {
        nodes.push_back(list[usize(i)]);
        taken[usize(i)] = true;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!taken[i]) nodes.push_back(list[i]);
    }
    return nodes;
}

}  // namespace

std::vector<std::vector<Endpoint>> construct_placements(const PlacementProblem& problem,
                                                        const Routes& routes,
                                                        const DeviceTable& devices) {
    const Nodes nodes = nodes_of(devices);
    const int num_ranks = problem.mesh.num_ranks();
    const int num_nodes = static_cast<int>(nodes.list.size());
    const int num_blocks =
        std::min(num_nodes, (num_ranks + nodes.devices_each - 1) / nodes.devices_each);
    const int unit = problem.mesh.size(Axis::ulysses) * problem.mesh.size(Axis::tensor);
    const EdgeCosts costs =
        edge_costs(routes, devices, nodes.list, latency_share_of(problem.traffic));
    std::vector<std::vector<Endpoint>> placements;
    for (const int length : cycle_lengths(problem.mesh, nodes.devices_each, num_blocks)) {
        std::vector<int> order = find_cycles(costs, num_blocks / length, length);
        if (gradients_move(problem.traffic)) order = chain_cycles(costs, order, length);
        const std::vector<int> all = with_rest(order, nodes.list);
        placements.push_back(fill(devices, all, num_ranks, 1));
        if (unit > 1) placements.push_back(fill(devices, all, num_ranks, unit));
    }
    return placements;
}

}  // namespace rm
