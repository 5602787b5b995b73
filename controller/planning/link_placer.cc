#include "controller/planning/link_placer.h"

#include <algorithm>
#include <map>

#include "base/step_traffic.h"
#include "planner/placement/solver.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kBudget = 2'000;  // evaluations; most of an answer is construction
constexpr const char* kStandIn = "llama3-8b";

StepTraffic traffic_of(const JobSpec& spec, const Mesh& mesh) {
    auto model = find_preset(spec.model.preset);
    if (!model) model = find_preset(kStandIn);
    const auto longest = std::max_element(
        spec.stages.begin(), spec.stages.end(),
        [](const StageSpec& a, const StageSpec& b) { return a.context < b.context; });
    if (longest == spec.stages.end()) return {};
    return step_traffic(*model, mesh,
                        {.context = longest->context,
                         .batch = longest->batch,
                         .zero = spec.zero,
                         .compute_bytes = spec.precision == "bf16" ? 2 : 4});
}

class LinkPlacer {
public:
    explicit LinkPlacer(const LinkGraph& graph) : graph_(graph) {
        for (int node = 0; node < graph.num_nodes(); ++node)
            node_of_[graph.nodes[static_cast<std::size_t>(node)].id] = node;
    }

    std::optional<std::vector<DeviceId>> place(const JobSpec& spec, const Mesh& mesh,
                                               const std::vector<DeviceId>& free) {
        if (mesh.num_ranks() == 1 || num_solved_ == kMostSolved) return std::nullopt;
        const PlacementProblem problem{graph_, mesh, traffic_of(spec, mesh), all_but(free)};
        const auto solution = solve_placement(problem, {.seed = kSeed, .budget = kBudget});
        // Too few of them are measured.
        if (!solution) return std::nullopt;
        ++num_solved_;
        std::vector<DeviceId> devices;
        for (const Endpoint& at : solution->placement)
            devices.push_back({graph_.nodes[static_cast<std::size_t>(at.node)].id, at.device});
        return devices;
    }

private:
    std::vector<Endpoint> all_but(const std::vector<DeviceId>& free) const {
        std::vector<std::vector<bool>> is_free;
        for (int node = 0; node < graph_.num_nodes(); ++node)
            is_free.emplace_back(static_cast<std::size_t>(graph_.num_devices(node)), false);
        for (const DeviceId& device : free) {
            const auto node = node_of_.find(device.node);
            if (node == node_of_.end()) continue;
            std::vector<bool>& here = is_free[static_cast<std::size_t>(node->second)];
            const auto index = static_cast<std::size_t>(device.index);
            if (index < here.size()) here[index] = true;
        }
        std::vector<Endpoint> others;
        for (int node = 0; node < graph_.num_nodes(); ++node) {
            for (int device = 0; device < graph_.num_devices(node); ++device) {
                if (!is_free[static_cast<std::size_t>(node)][static_cast<std::size_t>(device)]) {
                    others.push_back({node, device});
                }
            }
        }
        return others;
    }

    const LinkGraph& graph_;
    std::map<NodeId, int> node_of_;
    int num_solved_ = 0;
};

}  // namespace

std::vector<PlanDecision> plan_by_links(const PlanningSnapshot& snapshot) {
    if (snapshot.links.empty()) return plan_trivially(snapshot);
    LinkPlacer placer(snapshot.links);
    return plan_placed(snapshot, [&placer](const JobSpec& spec, const Mesh& mesh,
                                           const std::vector<DeviceId>& free) {
        return placer.place(spec, mesh, free);
    });
}

}  // namespace rm
