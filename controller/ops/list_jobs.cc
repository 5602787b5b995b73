#include "controller/ops/jobs_page.h"
#include "controller/ops/ops.h"

namespace rm {

Result<pb::ListJobsReply> list_jobs(OpsContext& context, const pb::ListJobsRequest& request) {
    RM_TRY(JobsPage page,
           read_jobs_page(context, request.page_size(), request.page_token(), [&](const Job& job) {
               return request.include_ended() || !is_terminal(job.state);
           }));
    pb::ListJobsReply reply;
    for (pb::Job& job : page.jobs)
        *reply.add_jobs() = std::move(job);
    reply.set_next_page_token(page.next_token);
    return reply;
}

}  // namespace rm
