#include "planner/plan_jobs.h"

#include <algorithm>

#include "planner/admission.h"
#include "planner/placement/link_placer.h"

namespace rm {
namespace {

// How long a rank waits for others to connect, and the least time it waits for one that computes:
// ranks extend it by the times of their steps and disks. Many ranks take longer to start.
Seconds meeting_limit(const Mesh& mesh) {
    constexpr double kLeast = 60;
    constexpr double kPerRank = 1;
    return {std::max(kLeast, kPerRank * mesh.num_ranks())};
}

std::vector<DeviceId> place(const JobSpec& spec, const Admitted& admitted, LinkPlacer& placer) {
    if (!spec.resources.placement.empty()) return spec.resources.placement;
    std::vector<DeviceId> free;
    for (const PlanningDevice* device : admitted.free)
        free.push_back(device->id);
    return placer.place(spec, admitted.mesh, std::move(free));
}

Plan make_plan(const JobSpec& spec, const Admitted& admitted, LinkPlacer& placer) {
    const PlanningDevice& any = *admitted.free.front();
    return {.mesh = admitted.mesh,
            .zero = spec.zero,
            .placement = place(spec, admitted, placer),
            .memory = resolve_memory(spec.memory),
            .network = network_for(spec, any, admitted.mesh.num_ranks()),
            .collective_timeout = meeting_limit(admitted.mesh)};
}

}  // namespace

std::vector<PlanDecision> plan_jobs(const PlanningSnapshot& snapshot) {
    Admission admission(snapshot);
    LinkPlacer placer(snapshot.links);
    std::vector<PlanDecision> decisions;
    for (const PlanningJob& job : snapshot.pending) {
        auto admitted = admission.admit(job);
        if (auto* reasons = std::get_if<Reasons>(&admitted)) {
            decisions.push_back({job.id, std::move(*reasons)});
            continue;
        }
        Plan plan = make_plan(job.spec, std::get<Admitted>(admitted), placer);
        admission.take(job.id, plan.placement);
        decisions.push_back({job.id, std::move(plan)});
    }
    return decisions;
}

}  // namespace rm
