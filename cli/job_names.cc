#include "cli/job_names.h"

#include "cli/client.h"
#include "cli/job_text.h"
#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {

Result<std::string> choose_job(const std::string& name, const std::vector<pb::Job>& named) {
    if (named.empty()) return name;
    std::string list;
    const pb::Job* live = nullptr;
    int num_live = 0;
    for (const pb::Job& job : named) {
        if (has_ended(job)) continue;
        if (live == nullptr) live = &job;
        list += format("{}{} ({})", num_live == 0 ? "" : ", ", job.id(), state_name(job.state()));
        ++num_live;
    }
    if (num_live > 1)
        return invalid_argument("{} jobs named '{}' are live; use an id: {}", num_live, name, list);
    return live != nullptr ? live->id() : named.front().id();
}

Result<std::string> find_job(Client& client, const std::string& text) {
    if (text.empty()) return text;
    pb::HistoryRequest request;
    request.set_name(text);
    // The newest of this name: one page.
    RM_TRY(const pb::HistoryReply reply, client.call(&pb::JobService::Stub::History, request));
    return choose_job(text, {reply.jobs().begin(), reply.jobs().end()});
}

Result<std::vector<std::string>> find_jobs(Client& client, const std::vector<std::string>& texts) {
    std::vector<std::string> ids;
    for (const std::string& text : texts) {
        RM_TRY(std::string id, find_job(client, text));
        ids.push_back(std::move(id));
    }
    return ids;
}

}  // namespace rm
