#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::Job> get_job(OpsContext& context, const pb::GetJobRequest& request) {
    return view_job(context, request.job_id());
}

}  // namespace rm
