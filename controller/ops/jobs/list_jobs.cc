#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::ListJobsReply> list_jobs(OpsContext& context, const pb::ListJobsRequest& request) {
    const Which which = request.include_ended() ? Which::all : Which::live;
    RM_TRY(JobsPage page, read_jobs_page(context, request.page_size(), request.page_token(), which,
                                         [](const Job&) { return true; }));
    pb::ListJobsReply reply;
    for (pb::Job& job : page.jobs)
        *reply.add_jobs() = std::move(job);
    reply.set_next_page_token(page.next_token);
    return reply;
}

}  // namespace rm
