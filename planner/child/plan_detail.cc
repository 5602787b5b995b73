#include "planner/child/plan_detail.h"

#include <cmath>

#include "planner/admission.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

namespace pb = ringmaster::v1;

constexpr const char* kBasis = "by the present devices, as if nothing else ran";

MeshRanking ranking_of(const PlanningSnapshot& snapshot, const Plan& recorded) {
    if (snapshot.by_rule) return own_mesh(recorded, {{"the search took too long"}});
    const PlanningJob& job = snapshot.pending.at(0);
    auto admitted = Admission(snapshot).admit(job);
    if (auto* reasons = std::get_if<Reasons>(&admitted))
        return own_mesh(recorded, std::move(*reasons));
    const Admitted& devices = std::get<Admitted>(admitted);
    return rank_meshes({snapshot, job.spec, devices.mesh, devices.free}, recorded);
}

// Three digits are enough to draw, and short as JSON.
float rounded(double share) {
    return static_cast<float>(std::round(share * 1000) / 1000);
}

pb::PlannedStep to_proto(const PlannedStep& step) {
    pb::PlannedStep out;
    out.set_timed(step.timed);
    out.set_length(step.length);
    out.set_links_measured(step.links_measured);
    out.set_kind(step.kind);
    out.set_device_capacity_bytes(step.device_capacity.value);
    out.set_host_capacity_bytes(step.host_capacity.value);
    for (const auto& [kind, bytes] : step.state.by_kind)
        (*out.mutable_state_bytes())[kind] = bytes.value;
    out.set_held_bytes(step.held.value);
    out.set_device_arena_bytes(step.device_arena.planned.value);
    out.set_host_arena_bytes(step.host_arena.planned.value);
    for (const Bytes& bytes : step.device)
        out.add_device_bytes(bytes.value);
    for (const Bytes& bytes : step.host)
        out.add_host_bytes(bytes.value);
    for (const PlannedStep::Stream& stream : step.streams) {
        pb::StreamUse& use = *out.add_streams();
        use.set_name(stream.name);
        for (const double share : stream.busy)
            use.add_busy(rounded(share));
    }
    return out;
}

pb::RankedMesh to_proto(const RankedMesh& row) {
    pb::RankedMesh out;
    *out.mutable_mesh() = to_proto(row.mesh);
    out.set_zero(row.zero);
    out.set_chosen(row.chosen);
    out.set_passed_over(row.passed_over);
    if (!row.passed_over.empty()) return out;
    if (row.predicted != PlanPrediction{}) *out.mutable_predicted() = to_proto(row.predicted);
    *out.mutable_memory() = to_proto(row.memory);
    out.set_causal_mfu(row.causal_mfu);
    out.set_fp8_mfu(row.fp8_mfu);
    if (row.cost.money > 0 || row.cost.kwh > 0) *out.mutable_cost() = to_proto(row.cost);
    return out;
}

pb::MeshRanking to_proto(const MeshRanking& ranking) {
    pb::MeshRanking out;
    out.set_basis(kBasis);
    out.set_kind(ranking.kind);
    out.set_devices(ranking.devices);
    out.set_considered(ranking.considered);
    for (const RankedMesh& row : ranking.meshes)
        *out.add_meshes() = to_proto(row);
    for (const Reason& reason : ranking.reasons)
        out.add_reasons(to_string(reason));
    return out;
}

}  // namespace

Result<PlanDetail> detail_of(const PlanningSnapshot& snapshot) {
    const Plan& recorded = snapshot.recorded.value();
    PlanDetail detail;
    RM_TRY(detail.step, planned_step(snapshot, recorded));
    detail.ranking = ranking_of(snapshot, recorded);
    return detail;
}

pb::PlanningDetail to_proto(const Result<PlanDetail>& detail) {
    pb::PlanningDetail out;
    if (!detail) {
        out.set_against(detail.error().message);
        return out;
    }
    *out.mutable_step() = to_proto(detail->step);
    *out.mutable_ranking() = to_proto(detail->ranking);
    return out;
}

}  // namespace rm
