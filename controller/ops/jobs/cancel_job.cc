#include "controller/ops/checks.h"
#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {
Result<pb::Job> cancel_job(OpsContext& context, const pb::CancelJobRequest& request,
                           const Principal& caller) {
    RM_TRY(const JobId id, context.control.read([&](const State& state) -> Result<JobId> {
        RM_TRY(const JobId named, resolve_job(state, request.job_id()));
        RM_RETURN_IF_ERROR(check_owner(state, named, caller, "cancel"));
        return named;
    }));
    const StopMode mode = request.now() ? StopMode::now : StopMode::graceful;
    RM_RETURN_IF_ERROR(context.control.call(CancelJob{id, mode}));
    return view_job(context, id.value);
}

}  // namespace rm
