#include "planner/admission.h"

#include "planner/explain.h"
#include "planner/mesh.h"

namespace rm {

std::variant<Admitted, Reasons> Admission::admit(const PlanningJob& job) {
    if (!job.waits.empty()) return Reasons{job.waits};
    const PlanningFiles& files = files_of(snapshot_, job);
    if (!files.waits.empty()) return Reasons{files.waits};
    const std::vector<Pool> pools = make_pools(snapshot_, job, claims_);
    const std::vector<const Pool*> candidates = candidates_for(job.spec, pools);
    for (const Pool* pool : candidates) {
        const auto mesh = mesh_for(job.spec, static_cast<int>(pool->free.size()));
        if (!mesh) return Reasons{reason_from(mesh.error().message)};
        if (*mesh) return Admitted{**mesh, pool->free};
    }
    Reasons reasons = reasons_against(job.spec, pools, candidates);
    reasons.insert(reasons.end(), files.reasons.begin(), files.reasons.end());
    reserve_if_overdue(job, candidates);
    return reasons;
}

void Admission::take(const JobId& job, const std::vector<DeviceId>& devices) {
    for (const DeviceId& device : devices)
        claims_.taken[device] = "job " + job.value;
}

// Keeps all free devices of the first pool that is large enough for the job; candidates with most
// free devices come first. They are fewer than the job needs, or it would run.
void Admission::reserve_if_overdue(const PlanningJob& job,
                                   const std::vector<const Pool*>& candidates) {
    const Seconds waited = snapshot_.now - job.waiting_since;
    if (waited < snapshot_.max_bypass) return;
    if (!job.spec.resources.placement.empty()) return reserve_named(job, candidates);
    for (const Pool* pool : candidates) {
        if (pool->usable() < job.spec.num_ranks().value_or(1)) continue;
        const Reason reason{format("{} devices are kept for job {}, which has waited {}",
                                   pool->kind, job.id, waited),
                            "fits after it"};
        for (const PlanningDevice* device : pool->free)
            claims_.kept.try_emplace(device->id, reason);
        return;
    }
}

void Admission::reserve_named(const PlanningJob& job, const std::vector<const Pool*>& candidates) {
    const std::vector<DeviceId>& named = job.spec.resources.placement;
    if (candidates.size() != 1) return;
    if (candidates[0]->usable() < static_cast<int>(named.size())) return;
    for (const DeviceId& device : named)
        claims_.taken.try_emplace(device, format("job {}, for which they are kept", job.id));
}

}  // namespace rm
