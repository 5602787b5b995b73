#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::Job> cancel_job(OpsContext& context, const pb::CancelJobRequest& request) {
    RM_TRY(const JobId id, context.control.read([&](const State& state) {
        return resolve_job(state, request.job_id());
    }));
    const StopMode mode = request.now() ? StopMode::now : StopMode::graceful;
    RM_RETURN_IF_ERROR(context.control.call(CancelJob{id, mode}));
    return view_job(context, id.value);
}

}  // namespace rm
