#include "planner/placement/explain.h"

#include <algorithm>
#include <unordered_map>

#include "planner/placement/solver.h"

namespace rm {
namespace {

// If a single flow fills a link, names the link, not the flow's limit: both are one measurement.
constexpr double kSame = 1 - 1e-9;

class PhaseReport {
public:
    PhaseReport(const Routes& routes, const PlacementProblem& problem, int phase,
                const std::vector<Endpoint>& placement)
        : routes_(routes), placement_(placement), phase_(phase) {
        const CommPhase& what = problem.traffic[usize(phase)];
        flows_ = flows_of(problem.mesh, what);
        for (const Flow& flow : flows_) {
            route_of(flow).for_each([&](int r) { load_[r] += flow.bytes; });
        }
        groups_ = groups_of(problem.mesh, what.axis);
    }

    std::vector<GroupReport> reports() const {
        std::unordered_map<int, std::size_t> group_of;
        std::vector<GroupReport> reports;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            for (const int rank : groups_[g])
                group_of[rank] = g;
            reports.push_back({phase_, groups_[g], {-1, -1, 0}, "", {}});
        }
        for (const Flow& flow : flows_)
            consider(flow, reports[group_of.at(flow.from)]);
        std::erase_if(reports, [](const GroupReport& r) { return r.slowest.from < 0; });
        std::stable_sort(
            reports.begin(), reports.end(),
            [](const GroupReport& a, const GroupReport& b) { return a.time > b.time; });
        return reports;
    }

private:
    Route route_of(const Flow& flow) const {
        return routes_.route(placement_[usize(flow.from)], placement_[usize(flow.to)]);
    }
    void consider(const Flow& flow, GroupReport& report) const {
        const Route route = route_of(flow);
        double time = static_cast<double>(flow.bytes) / route.flow;
        int slowest = -1;
        route.for_each([&](int r) {
            const double here = static_cast<double>(load_.at(r)) * routes_.seconds_per_byte(r);
            if (here <= (slowest < 0 ? kSame * time : time)) return;
            time = here;
            slowest = r;
        });
        if (report.slowest.from >= 0 && time <= report.time.value) return;
        report.slowest = flow;
        report.time = {time};
        report.resource = slowest < 0 ? "limit of one flow" : routes_.name(slowest);
    }

    const Routes& routes_;
    const std::vector<Endpoint>& placement_;
    int phase_;
    std::vector<Flow> flows_;
    std::vector<std::vector<int>> groups_;
    std::unordered_map<int, std::int64_t> load_;
};

OrderCost cost_of(const Routes& routes, const PlacementProblem& problem,
                  const std::vector<Endpoint>& placement) {
    const PlacementCost cost = placement_cost(routes, problem.mesh, problem.traffic, placement);
    OrderCost order;
    order.total = cost.total;
    for (const Endpoint& at : placement)
        order.ranks.push_back({problem.graph.nodes[usize(at.node)].id, at.device});
    for (const PhaseCost& phase : cost.phases) {
        order.phases.push_back(
            {phase.time, phase.slowest < 0 ? std::string() : routes.name(phase.slowest)});
    }
    return order;
}

}  // namespace

std::vector<GroupReport> explain_placement(const PlacementProblem& problem,
                                           const std::vector<Endpoint>& placement) {
    const Routes routes(problem.graph);
    std::vector<GroupReport> all;
    for (int phase = 0; phase < static_cast<int>(problem.traffic.size()); ++phase) {
        const auto reports = PhaseReport(routes, problem, phase, placement).reports();
        all.insert(all.end(), reports.begin(), reports.end());
    }
    return all;
}

PlacementReport report_placement(const PlacementProblem& problem,
                                 const std::vector<Endpoint>& placement) {
    const auto registration = registration_order(problem);
    const auto by_node = node_order(problem);
    RM_CHECK(registration && by_node, "a mesh of {} ranks on fewer devices",
             problem.mesh.num_ranks());
    const Routes routes(problem.graph);
    PlacementReport report;
    report.mesh = problem.mesh;
    report.predicted = true;
    report.traffic = problem.traffic;
    report.placed = cost_of(routes, problem, placement);
    report.registration = cost_of(routes, problem, *registration);
    report.by_node = cost_of(routes, problem, *by_node);
    report.groups = explain_placement(problem, placement);
    return report;
}

}  // namespace rm
