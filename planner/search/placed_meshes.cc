#include "planner/search/placed_meshes.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/check.h"
#include "planner/placement/job_traffic.h"
#include "planner/placement/solver.h"
#include "planner/search/group_links.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 1;
// Evaluations. The many meshes of a search differ by more than local search finds beyond what the
// solver constructs.
constexpr std::int64_t kFirstBudget = 50;
constexpr std::int64_t kBudget = 500;
constexpr std::int64_t kExactBudget = 20'000;
constexpr double kNoMatter = 0.005;  // as small a share of a step is not worth another placement

std::vector<Endpoint> devices_of(const SearchQuestion& question) {
    if (!question.places.empty()) return question.places;
    return first_devices(question.fleet.links, question.most_devices());
}

std::vector<Endpoint> all_but(const LinkGraph& graph, const std::vector<Endpoint>& devices) {
    const std::set<Endpoint> used(devices.begin(), devices.end());
    std::vector<Endpoint> others = first_devices(graph, graph.num_devices());
    std::erase_if(others, [&](const Endpoint& at) { return used.contains(at); });
    return others;
}

// Whether any order of these devices is as good as any other.
bool are_alike(const LinkGraph& graph, const std::vector<Endpoint>& devices) {
    const int node = devices.front().node;
    const bool is_one_node = std::all_of(devices.begin(), devices.end(),
                                         [node](const Endpoint& at) { return at.node == node; });
    const NodeInterior& interior = graph.interior_of(node);
    const int count = interior.num_devices;
    if (!is_one_node || !interior.bridges.empty() || count < 2) return is_one_node && count < 2;
    const Link& any = interior.pair(0, 1);
    for (int from = 0; from < count; ++from) {
        for (int to = 0; to < count; ++to)
            if (from != to && interior.pair(from, to) != any) return false;
    }
    return true;
}

// The names of its groups in predictions, where the two rings of a double one have the same.
std::set<std::string> names_of(Axis axis) {
    std::set<std::string> names;
    for (const GroupKey key : keys_of(axis))
        names.emplace(axis_name(key));
    return names;
}

double sent_along(const Prediction& prediction, Axis axis) {
    double sent = 0;
    for (const std::string& name : names_of(axis)) {
        const auto bytes = prediction.moved.find(name);
        if (bytes != prediction.moved.end()) sent += static_cast<double>(bytes->second.value);
    }
    return sent;
}

Bytes scaled(Bytes bytes, double factor) {
    return {static_cast<std::int64_t>(factor * static_cast<double>(bytes.value))};
}

// The messages of an axis share what compute hides of them in proportion to their times.
void hide(const Prediction& prediction, const PlacementCost& cost, StepTraffic& traffic) {
    std::map<Axis, double> sent;
    for (std::size_t i = 0; i < traffic.size(); ++i)
        sent[traffic[i].axis] += cost.phases[i].time.value;
    for (std::size_t i = 0; i < traffic.size(); ++i) {
        const double all = sent.at(traffic[i].axis);
        const double hidden = std::max(0.0, all - exposed_along(prediction, traffic[i].axis));
        if (all > 0) traffic[i].hidden = {cost.phases[i].time.value / all * hidden};
    }
}

}  // namespace

double exposed_along(const Prediction& prediction, Axis axis) {
    double exposed = 0;
    for (const std::string& name : names_of(axis)) {
        const auto phase = prediction.phases.find(exposed_phase(name));
        if (phase != prediction.phases.end()) exposed += phase->second;
    }
    return exposed;
}

StepTraffic recorded_bytes(StepTraffic traffic, const Prediction& prediction) {
    std::map<Axis, double> counted;
    for (const CommPhase& phase : traffic)
        counted[phase.axis] += static_cast<double>(phase.bytes.value + phase.outer_bytes.value);
    for (CommPhase& phase : traffic) {
        if (counted.at(phase.axis) <= 0) continue;
        const double factor = sent_along(prediction, phase.axis) / counted.at(phase.axis);
        phase.bytes = scaled(phase.bytes, factor);
        phase.outer_bytes = scaled(phase.outer_bytes, factor);
    }
    return traffic;
}

PlacedMeshes::PlacedMeshes(const SearchQuestion& question)
    : question_(question),
      routes_(question.fleet.links),
      devices_(devices_of(question)),
      forbidden_(all_but(question.fleet.links, devices_)),
      alike_(are_alike(question.fleet.links, devices_)) {}

// No order is better than the given one, or none may be taken.
bool PlacedMeshes::is_given() const {
    return question_.in_order || alike_ || question_.devices == 1;
}

StepTraffic PlacedMeshes::traffic_of(const Sharding& sharding) const {
    return rm::traffic_of(question_.spec, question_.model, sharding.mesh, sharding.zero);
}

PlacedMesh PlacedMeshes::at(const Mesh& mesh, std::vector<Endpoint> placement) const {
    LinkSpeeds links = group_links(routes_, mesh, placement);
    return {std::move(placement), std::move(links)};
}

std::vector<Endpoint> PlacedMeshes::solve(const Mesh& mesh, StepTraffic traffic,
                                          std::int64_t budget) const {
    const PlacementProblem problem{question_.fleet.links, mesh, std::move(traffic), forbidden_};
    auto solution =
        solve_placement(problem, {.seed = kSeed, .budget = budget, .exact_budget = kExactBudget});
    RM_CHECK(solution.ok(), "{}", solution.error().message);
    return std::move(solution->placement);
}

const PlacedMesh& PlacedMeshes::of(const Sharding& sharding) {
    const auto [known, is_new] =
        placed_.try_emplace({to_string(sharding.mesh), sharding.zero}, PlacedMesh{});
    if (!is_new) return known->second;
    const auto first = devices_.begin();
    known->second =
        at(sharding.mesh, is_given() ? std::vector<Endpoint>(first, first + question_.devices)
                                     : solve(sharding.mesh, traffic_of(sharding), kFirstBudget));
    return known->second;
}

PlacedMesh PlacedMeshes::again(const RankedPlan& plan) const {
    const Mesh& mesh = plan.sharding.mesh;
    StepTraffic traffic = recorded_bytes(traffic_of(plan.sharding), plan.prediction);
    const PlacementCost cost = placement_cost(routes_, mesh, traffic, plan.placement);
    hide(plan.prediction, cost, traffic);
    double exposed = 0;
    for (std::size_t i = 0; i < traffic.size(); ++i)
        exposed += rm::exposed(traffic[i], cost.phases[i].time).value;
    if (is_given() || exposed < kNoMatter * plan.prediction.step.value)
        return at(mesh, plan.placement);
    return at(mesh, solve(mesh, std::move(traffic), kBudget));
}

}  // namespace rm
