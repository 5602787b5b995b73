#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::Job> get_job(OpsContext& context, const pb::GetJobRequest& request) {
    RM_TRY(pb::Job job, view_job(context, request.job_id()));
    RM_RETURN_IF_ERROR(add_connections(context, job));
    return job;
}

}  // namespace rm
