#include "controller/ops/explain.h"
#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::ExplainJobReply> explain_job(OpsContext& context, const pb::ExplainJobRequest& request) {
    const WallTime now = context.clock.wall();
    RM_TRY(pb::ExplainJobReply reply,
           context.control.read([&](const State& state) -> Result<pb::ExplainJobReply> {
               RM_TRY(const JobId id, resolve_job(state, request.job_id()));
               const Job& job = *find_job(state, id);
               pb::ExplainJobReply found;
               *found.mutable_job() = to_message(state, job);
               for (pb::Finding& finding : explain(state, job, now))
                   *found.add_findings() = std::move(finding);
               return found;
           }));
    RM_RETURN_IF_ERROR(add_reports(context, *reply.mutable_job()));
    if (reply.job().state() != pb::JOB_STATE_RUNNING) return reply;
    for (pb::Finding& finding : explain_step(reply.job().last_step(), now))
        *reply.add_findings() = std::move(finding);
    return reply;
}

}  // namespace rm
