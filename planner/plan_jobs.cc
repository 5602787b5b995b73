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

std::vector<DeviceId> place(const JobSpec& spec, const Mesh& mesh,
                            const std::vector<const PlanningDevice*>& devices, LinkPlacer& placer) {
    if (!spec.resources.placement.empty()) return spec.resources.placement;
    std::vector<DeviceId> free;
    for (const PlanningDevice* device : devices)
        free.push_back(device->id);
    return placer.place(spec, mesh, std::move(free));
}

Plan make_plan(const PlanningSnapshot& snapshot, const JobSpec& spec, const PlanShape& shape,
               const Admitted& admitted, LinkPlacer& placer) {
    const PlanningDevice& any = *admitted.free.front();
    return {.mesh = shape.mesh,
            .zero = shape.zero,
            .placement = shape.placement.empty() ? place(spec, shape.mesh, admitted.free, placer)
                                                 : shape.placement,
            .memory = shape.memory,
            .network = network_for(spec, any, shape.mesh.num_ranks()),
            .collective_timeout = meeting_limit(shape.mesh),
            .predicted = shape.predicted,
            .rates = rates_of(snapshot.prices, any.kind)};
}

}  // namespace

ShapeDecision shape_by_rule(const ShapeQuestion& question) {
    const JobSpec& spec = question.spec;
    return PlanShape{question.mesh, spec.zero, resolve_memory(spec.memory)};
}

std::vector<PlanDecision> plan_jobs_with(const PlanningSnapshot& snapshot,
                                         const ShapeChooser& choose) {
    Admission admission(snapshot);
    LinkPlacer placer(snapshot.links);
    std::vector<PlanDecision> decisions;
    for (const PlanningJob& job : snapshot.pending) {
        auto admitted = admission.admit(job);
        if (auto* reasons = std::get_if<Reasons>(&admitted)) {
            decisions.push_back({job.id, std::move(*reasons)});
            continue;
        }
        const Admitted& devices = std::get<Admitted>(admitted);
        auto shape = choose({snapshot, job.spec, devices.mesh, devices.free, job.spent_usd});
        if (auto* reasons = std::get_if<Reasons>(&shape)) {
            decisions.push_back({job.id, std::move(*reasons)});
            continue;
        }
        Plan plan = make_plan(snapshot, job.spec, std::get<PlanShape>(shape), devices, placer);
        admission.take(job.id, plan.placement);
        decisions.push_back({job.id, std::move(plan)});
    }
    return decisions;
}

std::vector<PlanDecision> plan_jobs(const PlanningSnapshot& snapshot) {
    return plan_jobs_with(snapshot, shape_by_rule);
}

}  // namespace rm
