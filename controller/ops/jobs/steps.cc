#include "controller/ops/jobs/read_curves.h"
#include "controller/ops/ops.h"

namespace rm {

Result<pb::StepsReply> steps(OpsContext& context, const pb::StepsRequest& request) {
    RM_TRY(const JobId job, context.control.read([&](const State& state) {
        return resolve_job(state, request.job_id());
    }));
    return read_curves(context.telemetry, job, request);
}

}  // namespace rm
