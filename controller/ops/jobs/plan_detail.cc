#include "controller/ops/checks.h"
#include "controller/ops/ops.h"
#include "controller/ops/topology/placement.h"
#include "ringmaster/v1/planning.pb.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

// The question about an attempt's plan, without links.
struct Asked {
    JobId job;
    Epoch epoch;
    PlanningSnapshot snapshot;
};

Result<Asked> asked_by(const State& state, const pb::PlanDetailRequest& request, WallTime now) {
    RM_TRY(const JobId id, resolve_job(state, request.job_id()));
    RM_TRY(const Attempt* attempt, find_placed(state, *find_job(state, id), request.attempt()));
    return Asked{id, attempt->epoch, recorded_snapshot(state, *attempt, now)};
}

}  // namespace

Result<pb::PlanDetailReply> plan_detail(OpsContext& context, const pb::PlanDetailRequest& request) {
    RM_RETURN_IF_ERROR(check_message(request));
    const WallTime now = context.now().steady;
    RM_TRY(Asked asked,
           context.control.read([&](const State& state) { return asked_by(state, request, now); }));
    add_links(asked.snapshot, context.links);
    auto detail = context.detailer(asked.snapshot);
    if (!detail)
        return make_error(ErrorCode::internal, "the planner failed: {}", detail.error().message);
    if (!detail->against().empty()) {
        return make_error(ErrorCode::failed_precondition,
                          "no dry run can be made of the plan of attempt {}: {}", asked.epoch,
                          detail->against());
    }
    pb::PlanDetailReply reply;
    reply.set_job_id(asked.job.value);
    reply.set_attempt(asked.epoch.value);
    const PlanPrediction& predicted = asked.snapshot.recorded->predicted;
    if (predicted.step.value > 0) *reply.mutable_predicted() = to_proto(predicted);
    *reply.mutable_step() = std::move(*detail->mutable_step());
    *reply.mutable_ranking() = std::move(*detail->mutable_ranking());
    return reply;
}

}  // namespace rm
