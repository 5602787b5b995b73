#include "controller/planning/link_placer.h"

#include "controller/planning/graph_devices.h"
#include "controller/planning/job_traffic.h"
#include "planner/placement/solver.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kBudget = 2'000;  // evaluations; most of an answer is construction

class LinkPlacer {
public:
    explicit LinkPlacer(const LinkGraph& graph) : graph_(graph), devices_(graph) {}

    std::optional<std::vector<DeviceId>> place(const JobSpec& spec, const Mesh& mesh,
                                               const std::vector<DeviceId>& free) {
        if (mesh.num_ranks() == 1 || num_solved_ == kMostSolved) return std::nullopt;
        const PlacementProblem problem{graph_, mesh, traffic_of(spec, mesh).phases,
                                       devices_.all_but(free)};
        const auto solution = solve_placement(problem, {.seed = kSeed, .budget = kBudget});
        // Too few of them are measured.
        if (!solution) return std::nullopt;
        ++num_solved_;
        std::vector<DeviceId> devices;
        for (const Endpoint& at : solution->placement)
            devices.push_back(devices_.id(at));
        return devices;
    }

private:
    const LinkGraph& graph_;
    const GraphDevices devices_;
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
