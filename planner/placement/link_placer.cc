#include "planner/placement/link_placer.h"

#include "planner/placement/job_traffic.h"
#include "planner/placement/solver.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kBudget = 2'000;  // evaluations; most of an answer is construction

}  // namespace

std::vector<DeviceId> LinkPlacer::place(const JobSpec& spec, const Mesh& mesh,
                                        std::vector<DeviceId> free) {
    if (!graph_.empty() && mesh.num_ranks() > 1 && num_solved_ < kMostSolved) {
        const PlacementProblem problem{graph_, mesh, traffic_of(spec, mesh).phases,
                                       devices_.all_but(free)};
        // No solution: too few of the free devices are measured.
        if (const auto solution = solve_placement(problem, {.seed = kSeed, .budget = kBudget})) {
            ++num_solved_;
            std::vector<DeviceId> devices;
            for (const Endpoint& at : solution->placement)
                devices.push_back(devices_.id(at));
            return devices;
        }
    }
    free.resize(usize(mesh.num_ranks()));
    return free;
}

}  // namespace rm
