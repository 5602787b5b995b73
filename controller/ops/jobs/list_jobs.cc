#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::ListJobsReply> list_jobs(OpsContext& context, const pb::ListJobsRequest& request) {
    const Which which = request.include_ended() ? Which::all : Which::live;
    return read_jobs_page(context, request.page_size(), request.page_token(), which,
                          [](const Job&) { return true; });
}

}  // namespace rm
