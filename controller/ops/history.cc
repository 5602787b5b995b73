#include "controller/ops/jobs_page.h"
#include "controller/ops/ops.h"
#include "controller/ops/views.h"

namespace rm {

Result<pb::HistoryReply> history(OpsContext& context, const pb::HistoryRequest& request) {
    const auto wanted = [&](const Job& job) {
        if (!request.name().empty() && job.spec.name != request.name()) return false;
        return request.state() == pb::JOB_STATE_UNSPECIFIED ||
               request.state() == to_message(job.state);
    };
    RM_TRY(JobsPage page,
           read_jobs_page(context, request.page_size(), request.page_token(), Which::all, wanted));
    pb::HistoryReply reply;
    for (pb::Job& job : page.jobs)
        *reply.add_jobs() = std::move(job);
    reply.set_next_page_token(page.next_token);
    return reply;
}

}  // namespace rm
