#include "cli/placement_text.h"

#include <nlohmann/json.hpp>

#include "cli/draw_mesh.h"
#include "cli/table.h"
#include "cli/text.h"
#include "planner/placement/explain.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

// Beyond these, groups and members are counted instead of listed.
constexpr int kMostGroupsShown = 4;
constexpr std::size_t kMostMembersShown = 16;

std::string device_text(const PlacementProblem& problem, Endpoint at) {
    return format("{}:{}", problem.graph.nodes[static_cast<std::size_t>(at.node)].id, at.device);
}

// The pattern only where an axis has several.
std::string phase_name(const CommPhase& phase) {
    if (phase.axis != Axis::tensor) return std::string(to_string(phase.axis));
    return phase.pattern == Pattern::ring ? "tensor rings" : "tensor all-to-all";
}

pb::Attempt attempt_of(const PlacementProblem& problem, const Solution& solution) {
    pb::Attempt attempt;
    *attempt.mutable_mesh() = to_proto(problem.mesh);
    for (const Endpoint& at : solution.placement) {
        pb::Placement& place = *attempt.add_placement();
        place.set_node_id(problem.graph.nodes[static_cast<std::size_t>(at.node)].id.value);
        place.set_device(at.device);
    }
    return attempt;
}

void print_costs(const Output& out, const PlacementProblem& problem, const Solution& solution) {
    std::vector<Column> columns = {{"ORDER"}, {"STEP", Align::right}};
    for (const CommPhase& phase : problem.traffic)
        columns.push_back({phase_name(phase), Align::right});
    columns.push_back({"SLOWER", Align::right});
    Table table(std::move(columns));
    const auto add = [&](const char* name, const PlacementCost& cost) {
        std::vector<Cell> row = {name, to_string(cost.total)};
        for (const PhaseCost& phase : cost.phases)
            row.emplace_back(to_string(phase.time));
        const double ratio =
            solution.cost.total.value > 0 ? cost.total.value / solution.cost.total.value : 1;
        row.emplace_back(format("{:.2}x", ratio));
        table.add(std::move(row));
    };
    add("placed", solution.cost);
    add("registration order", solution.registration_cost);
    add("node order", solution.by_node_cost);
    table.print(out, "  ");
}

// n1:0 > n2:0 > n3:0, a long one shortened in its middle.
std::string ring_text(const PlacementProblem& problem, const Solution& solution,
                      const std::vector<int>& ranks) {
    std::string text;
    const std::size_t shown = std::min(ranks.size(), kMostMembersShown);
    for (std::size_t i = 0; i < shown; ++i) {
        const auto rank = static_cast<std::size_t>(ranks[i]);
        text += format("{}{}", i == 0 ? "" : " > ", device_text(problem, solution.placement[rank]));
    }
    return shown < ranks.size() ? format("{} > ... {} more", text, ranks.size() - shown) : text;
}

void print_rings(const Output& out, const PlacementProblem& problem, const Solution& solution) {
    const auto rings = groups_of(problem.mesh, Axis::ring);
    if (problem.mesh.size(Axis::ring) == 1) return;
    out.stream << "\n  rings, each rank sending to the next and the last to the first\n";
    int shown = 0;
    for (const std::vector<int>& ring : rings) {
        if (shown++ == kMostGroupsShown) {
            out.stream << format("  ... and {} more\n",
                                 rings.size() - static_cast<std::size_t>(kMostGroupsShown));
            break;
        }
        out.stream << "  " << ring_text(problem, solution, ring) << '\n';
    }
}

void print_slowest(const Output& out, const PlacementProblem& problem, const Solution& solution) {
    Table table({{"GROUP"}, {"RANKS"}, {"SLOWEST"}, {"WAITS-FOR"}, {"TIME", Align::right}});
    int phase = -1;
    int shown = 0;
    int hidden = 0;
    for (const GroupReport& report : explain_placement(problem, solution.placement)) {
        if (report.phase != phase) shown = 0;
        phase = report.phase;
        if (++shown > kMostGroupsShown) {
            ++hidden;
            continue;
        }
        const auto place = [&](int rank) {
            return device_text(problem, solution.placement[static_cast<std::size_t>(rank)]);
        };
        table.add({phase_name(problem.traffic[static_cast<std::size_t>(phase)]),
                   ranges_text({report.ranks.begin(), report.ranks.end()}),
                   format("{} > {}", place(report.slowest.from), place(report.slowest.to)),
                   report.resource, to_string(report.time)});
    }
    if (phase < 0) return;
    out.stream << "\n  what the groups wait for, the slowest first\n";
    table.print(out, "  ");
    if (hidden > 0) out.stream << format("  ... and {} more groups (-o json)\n", hidden);
}

Json ranks_json(const PlacementProblem& problem, const std::vector<Endpoint>& placement) {
    Json ranks = Json::array();
    for (const Endpoint& at : placement) {
        ranks.push_back({{"node", problem.graph.nodes[static_cast<std::size_t>(at.node)].id.value},
                         {"device", at.device}});
    }
    return ranks;
}

Json cost_json(const PlacementProblem& problem, const PlacementCost& cost) {
    const Routes routes(problem.graph);
    Json phases = Json::array();
    for (std::size_t i = 0; i < cost.phases.size(); ++i) {
        const CommPhase& phase = problem.traffic[i];
        Json json{{"axis", to_string(phase.axis)},
                  {"pattern", to_string(phase.pattern)},
                  {"bytes", phase.bytes.value},
                  {"messages", phase.messages},
                  {"seconds", cost.phases[i].time.value}};
        if (cost.phases[i].slowest >= 0) json["slowest"] = routes.name(cost.phases[i].slowest);
        phases.push_back(std::move(json));
    }
    return {{"seconds", cost.total.value}, {"phases", std::move(phases)}};
}

Json groups_json(const PlacementProblem& problem, const Solution& solution) {
    Json groups = Json::array();
    for (const GroupReport& report : explain_placement(problem, solution.placement)) {
        const CommPhase& phase = problem.traffic[static_cast<std::size_t>(report.phase)];
        groups.push_back({{"axis", to_string(phase.axis)},
                          {"pattern", to_string(phase.pattern)},
                          {"ranks", report.ranks},
                          {"slowest_from", report.slowest.from},
                          {"slowest_to", report.slowest.to},
                          {"waits_for", report.resource},
                          {"seconds", report.time.value}});
    }
    return groups;
}

}  // namespace

void print_placement(const Output& out, const PlacementProblem& problem, const Solution& solution) {
    out.stream << format(
        "  communication of a step takes {} ({})\n", solution.cost.total,
        solution.optimal ? "proved least" : format("best of {} tried", solution.evaluations));
    print_costs(out, problem, solution);
    out.stream << '\n';
    draw_mesh(out, attempt_of(problem, solution));
    print_rings(out, problem, solution);
    print_slowest(out, problem, solution);
}

std::string placement_json(const PlacementProblem& problem, const Solution& solution) {
    Json mesh;
    for (const Axis axis : kAxes)
        mesh[std::string(to_string(axis))] = problem.mesh.size(axis);
    if (problem.mesh.outer_ring() > 1) mesh["inner"] = problem.mesh.inner_ring();
    Json baseline = cost_json(problem, solution.registration_cost);
    baseline["ranks"] = ranks_json(problem, solution.registration);
    Json by_node = cost_json(problem, solution.by_node_cost);
    by_node["ranks"] = ranks_json(problem, solution.by_node);
    const Json json{{"mesh", mesh},
                    {"ranks", ranks_json(problem, solution.placement)},
                    {"predicted", cost_json(problem, solution.cost)},
                    {"registration_order", baseline},
                    {"node_order", by_node},
                    {"optimal", solution.optimal},
                    {"evaluations", solution.evaluations},
                    {"groups", groups_json(problem, solution)}};
    return json.dump();
}

}  // namespace rm
