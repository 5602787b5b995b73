#include <algorithm>

#include "controller/ops/ops.h"
#include "controller/ops/views.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

bool is_of_model(const ModelSpec& model, const std::string& name) {
    const std::string from = model.from;
    return name == model.name() || name == from || (!from.empty() && from.ends_with("/" + name));
}

// Fields that the request leaves empty exclude no job.
bool passes(const pb::HistoryRequest& request, const Job& job) {
    if (!request.name().empty() && job.spec.name != request.name()) return false;
    if (!request.owner().empty() && job.owner != request.owner()) return false;
    if (!request.model().empty() && !is_of_model(job.spec.model, request.model())) return false;
    const std::vector<std::string>& tags = job.spec.tags;
    if (!request.tag().empty() && std::ranges::count(tags, request.tag()) == 0) return false;
    if (request.has_since() && job.submitted < from_proto(request.since())) return false;
    return request.state() == pb::JOB_STATE_UNSPECIFIED || request.state() == to_message(job.state);
}

}  // namespace

Result<pb::HistoryReply> history(OpsContext& context, const pb::HistoryRequest& request) {
    const auto wanted = [&](const Job& job) { return passes(request, job); };
    RM_TRY(pb::ListJobsReply page,
           read_jobs_page(context, request.page_size(), request.page_token(), Which::all, wanted));
    pb::HistoryReply reply;
    reply.mutable_jobs()->Swap(page.mutable_jobs());
    reply.set_next_page_token(page.next_page_token());
    return reply;
}

}  // namespace rm
