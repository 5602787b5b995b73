#include "topology/placement_cost.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/words.h"

namespace rm {
namespace {

constexpr std::array<Axis, 3> kGradientAxes = {Axis::data, Axis::ring, Axis::ulysses};

// Key that the ranks of one group share: all coordinates except those along the group.
int group_key(const Mesh& mesh, int rank, std::span<const Axis> along) {
    Mesh::Coords coords = mesh.coords(rank);
    for (const Axis axis : along)
        coords[usize(axis)] = 0;
    return mesh.rank(coords);
}

void add_ring(const std::vector<int>& ring, std::int64_t bytes, std::vector<Flow>& flows) {
    if (ring.size() < 2 || bytes == 0) return;
    for (std::size_t i = 0; i < ring.size(); ++i)
        flows.push_back({ring[i], ring[(i + 1) % ring.size()], bytes});
}

void add_double_ring(const std::vector<int>& ring, const CommPhase& phase, int inner,
                     std::vector<Flow>& flows) {
    const auto places = usize(inner);
    for (std::size_t first = 0; first < ring.size(); first += places) {
        const auto begin = ring.begin() + static_cast<std::ptrdiff_t>(first);
        add_ring({begin, begin + inner}, phase.bytes.value, flows);
    }
    for (std::size_t place = 0; place < places; ++place) {
        std::vector<int> outer;
        for (std::size_t slot = place; slot < ring.size(); slot += places)
            outer.push_back(ring[slot]);
        add_ring(outer, phase.outer_bytes.value, flows);
    }
}

void add_all_to_all(const std::vector<int>& group, std::int64_t bytes, std::vector<Flow>& flows) {
    const auto others = static_cast<std::int64_t>(group.size()) - 1;
    if (others < 1 || bytes == 0) return;
    const std::int64_t part = (bytes + others - 1) / others;
    for (const int from : group) {
        for (const int to : group) {
            if (from != to) flows.push_back({from, to, part});
        }
    }
}

// Adds up the load that the flows of one phase put on each resource.
class PhaseLoad {
public:
    explicit PhaseLoad(const Routes& routes) : routes_(routes) {}

    void add(const Route& route, std::int64_t bytes) {
        route.for_each([&](int r) { load_[r] += bytes; });
        flow_time_ = std::max(flow_time_, static_cast<double>(bytes) / route.flow);
        latency_ = std::max(latency_, route.latency);
    }
    PhaseCost cost(std::int64_t messages) const {
        PhaseCost cost;
        double slowest = flow_time_;
        for (const auto& [r, bytes] : load_) {
            const double time = static_cast<double>(bytes) * routes_.seconds_per_byte(r);
            // Ties go to the lowest number, whatever the order of the table.
            if (time > slowest || (time == slowest && cost.slowest > r)) {
                slowest = time;
                cost.slowest = r;
            }
        }
        cost.time = {slowest + static_cast<double>(messages) * latency_};
        return cost;
    }

private:
    const Routes& routes_;
    std::unordered_map<int, std::int64_t> load_;
    double flow_time_ = 0;
    double latency_ = 0;
};

}  // namespace

Status validate(const StepTraffic& traffic) {
    for (const CommPhase& phase : traffic) {
        const std::string name = format("{} {}", to_string(phase.axis), to_string(phase.pattern));
        if (phase.bytes.value < 0 || phase.outer_bytes.value < 0) {
            return invalid_argument("traffic of {} is {} bytes; it must be 0 or more", name,
                                    std::min(phase.bytes.value, phase.outer_bytes.value));
        }
        if (!(phase.hidden.value >= 0)) {
            return invalid_argument("traffic of {} is hidden for {}; it must be 0 or more", name,
                                    phase.hidden);
        }
        if (phase.messages < 0) {
            return invalid_argument("traffic of {} has {} messages; it must be 0 or more", name,
                                    phase.messages);
        }
    }
    return {};
}

std::vector<std::vector<int>> groups_of(const Mesh& mesh, Axis axis) {
    const std::span<const Axis> along =
        axis == Axis::data ? std::span<const Axis>(kGradientAxes) : std::span<const Axis>(&axis, 1);
    std::map<int, std::vector<int>> groups;
    for (int rank = 0; rank < mesh.num_ranks(); ++rank)
        groups[group_key(mesh, rank, along)].push_back(rank);
    std::vector<std::vector<int>> list;
    for (auto& [key, group] : groups)
        list.push_back(std::move(group));
    return list;
}

std::vector<Flow> flows_of(const Mesh& mesh, const CommPhase& phase) {
    std::vector<Flow> flows;
    const bool is_double = phase.axis == Axis::ring && mesh.outer_ring() > 1;
    for (const std::vector<int>& group : groups_of(mesh, phase.axis)) {
        if (phase.pattern == Pattern::all_to_all) {
            add_all_to_all(group, phase.bytes.value, flows);
        } else if (is_double) {
            add_double_ring(group, phase, mesh.inner_ring(), flows);
        } else {
            add_ring(group, phase.bytes.value, flows);
        }
    }
    return flows;
}

std::vector<Flow> flows_of(const std::vector<int>& group, Pattern pattern, Bytes bytes) {
    std::vector<Flow> flows;
    if (pattern == Pattern::ring) {
        add_ring(group, bytes.value, flows);
    } else {
        add_all_to_all(group, bytes.value, flows);
    }
    return flows;
}

PhaseCost flows_cost(const Routes& routes, std::span<const Flow> flows, std::int64_t messages,
                     std::span<const Endpoint> placement) {
    PhaseLoad load(routes);
    for (const Flow& flow : flows)
        load.add(routes.route(placement[usize(flow.from)], placement[usize(flow.to)]), flow.bytes);
    return load.cost(messages);
}

PlacementCost placement_cost(const Routes& routes, const Mesh& mesh, const StepTraffic& traffic,
                             std::span<const Endpoint> placement) {
    PlacementCost cost;
    for (const CommPhase& phase : traffic) {
        const std::vector<Flow> flows = flows_of(mesh, phase);
        for (const Flow& flow : flows) {
            const Route route =
                routes.route(placement[usize(flow.from)], placement[usize(flow.to)]);
            cost.link_time += Seconds{static_cast<double>(flow.bytes) / routes.alone(route)};
        }
        cost.phases.push_back(flows_cost(routes, flows, phase.messages, placement));
        cost.total += exposed(phase, cost.phases.back().time);
    }
    return cost;
}

Status check_placement(const LinkGraph& graph, const Mesh& mesh,
                       std::span<const Endpoint> placement, std::span<const Endpoint> forbidden) {
    if (static_cast<int>(placement.size()) != mesh.num_ranks()) {
        return invalid_argument("the placement has {}; the mesh {} has {}",
                                counted(placement.size(), "device"), to_string(mesh),
                                counted(mesh.num_ranks(), "rank"));
    }
    const std::set<Endpoint> never(forbidden.begin(), forbidden.end());
    std::map<Endpoint, int> rank_on;
    int rank = 0;
    for (const Endpoint& at : placement) {
        if (at.node < 0 || at.node >= graph.num_nodes()) {
            return invalid_argument("rank {} is on node number {}; there are {}", rank, at.node,
                                    graph.num_nodes());
        }
        const NodeId& id = graph.nodes[usize(at.node)].id;
        if (at.device < 0 || at.device >= graph.num_devices(at.node)) {
            return invalid_argument("rank {} is on device {} of node {}, which has {}", rank,
                                    at.device, id, graph.num_devices(at.node));
        }
        if (never.contains(at)) {
            return invalid_argument("rank {} is on device {} of node {}, which is forbidden", rank,
                                    at.device, id);
        }
        const auto [other, is_new] = rank_on.emplace(at, rank);
        if (!is_new) {
            return invalid_argument("ranks {} and {} are both on device {} of node {}",
                                    other->second, rank, at.device, id);
        }
        ++rank;
    }
    return {};
}

}  // namespace rm
