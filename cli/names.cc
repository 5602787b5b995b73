#include "cli/names.h"

#include "cli/calls.h"
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

std::string node_line(const pb::Node& node) {
    return format("node {} ({})", node.id(), node.inventory().hostname());
}

Result<std::string> choose_node(const std::string& text, const std::vector<pb::Node>& nodes) {
    std::string found;
    std::string list;
    int count = 0;
    for (const pb::Node& node : nodes) {
        if (node.id() == text) return text;
        if (node.inventory().hostname() != text) continue;
        found = node.id();
        list += (count++ == 0 ? "" : ", ") + node.id();
    }
    if (count > 1)
        return invalid_argument("{} nodes are named '{}'; use an id: {}", count, text, list);
    return count == 1 ? found : text;
}

Result<std::vector<pb::Node>> pick_nodes(const std::vector<std::string>& texts,
                                         const std::vector<pb::Node>& nodes) {
    std::vector<pb::Node> picked;
    for (const std::string& text : texts) {
        const std::size_t before = picked.size();
        for (const pb::Node& node : nodes) {
            if (node.inventory().hostname() == text || node.id().starts_with(text))
                picked.push_back(node);
        }
        if (picked.size() == before)
            return make_error(ErrorCode::not_found, "there is no node '{}'", text);
    }
    return picked;
}

Result<std::vector<std::string>> find_nodes(Client& client, const std::vector<std::string>& texts) {
    RM_TRY(const Fleet fleet, read_fleet(client));
    std::vector<std::string> ids;
    for (const std::string& text : texts) {
        RM_TRY(std::string id, choose_node(text, fleet.nodes));
        ids.push_back(std::move(id));
    }
    return ids;
}

}  // namespace rm
