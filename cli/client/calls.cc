#include "cli/client/calls.h"

#include <random>

#include "cli/client/client.h"
#include "cli/show/job_text.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/node.grpc.pb.h"
#include "ringmaster/v1/topology.grpc.pb.h"

namespace rm {
namespace {

constexpr int kMostBegins = 3;  // of a list, when a new survey makes it start over

Result<std::vector<pb::Job>> list_jobs(const Client& client, const pb::ListJobsRequest& request) {
    std::vector<pb::Job> found;
    RM_RETURN_IF_ERROR(client.call_pages(
        &pb::JobService::Stub::List, request, [&found](const pb::ListJobsReply& reply) {
            found.insert(found.end(), reply.jobs().begin(), reply.jobs().end());
        }));
    return found;
}

}  // namespace

Result<std::string> submit_job(const Client& client, const pb::JobSpec& spec) {
    pb::SubmitRequest request;
    request.set_request_id(random_request_id());
    *request.mutable_spec() = spec;
    RM_TRY(const pb::SubmitReply reply, client.call(&pb::JobService::Stub::Submit, request));
    for (const std::string& warning : reply.warnings())
        client.note("warning: " + warning);
    return reply.job_id();
}

Result<pb::PlanReply> plan_job(const Client& client, const pb::JobSpec& spec) {
    pb::PlanRequest request;
    *request.mutable_spec() = spec;
    return client.call(&pb::JobService::Stub::Plan, request);
}

Result<pb::Job> get_job(const Client& client, const std::string& id) {
    pb::GetJobRequest request;
    request.set_job_id(id);
    return client.call(&pb::JobService::Stub::Get, request);
}

Result<pb::Job> cancel_job(const Client& client, const std::string& id, CancelMode mode) {
    pb::CancelJobRequest request;
    request.set_job_id(id);
    request.set_now(mode == CancelMode::now);
    return client.call(&pb::JobService::Stub::Cancel, request);
}

Result<std::vector<pb::Job>> live_jobs(const Client& client) {
    return list_jobs(client, {});
}

Result<std::vector<pb::Job>> all_jobs(const Client& client) {
    pb::ListJobsRequest request;
    request.set_include_ended(true);
    return list_jobs(client, request);
}

Result<Fleet> read_fleet(const Client& client) {
    Fleet fleet;
    RM_RETURN_IF_ERROR(client.call_pages(
        &pb::NodeService::Stub::List, {}, [&fleet](const pb::ListNodesReply& reply) {
            fleet.nodes.insert(fleet.nodes.end(), reply.nodes().begin(), reply.nodes().end());
            fleet.telemetry_dropped = reply.telemetry_dropped();
            fleet.machines.assign(reply.machines().begin(), reply.machines().end());
            fleet.provider_problem = reply.provider_problem();
        }));
    return fleet;
}

Result<pb::LinksReply> read_links(const Client& client) {
    for (int again = 0;; ++again) {
        pb::LinksReply all;
        const Status read =
            client.call_pages(&pb::TopologyService::Stub::Links, {},
                              [&all](const pb::LinksReply& reply) { all.MergeFrom(reply); });
        all.clear_next_page_token();
        if (read) return all;
        if (read.error().code != ErrorCode::aborted || again == kMostBegins) return read.error();
    }
}

Result<pb::SurveyState> survey_state(const Client& client) {
    pb::LinksRequest request;
    request.set_page_size(1);
    RM_TRY(const pb::LinksReply reply, client.call(&pb::TopologyService::Stub::Links, request));
    return reply.survey();
}

std::string random_request_id() {
    std::random_device device;
    std::string id;
    for (int word = 0; word < 4; ++word)
        id += format("{:08x}", device());
    return id;
}

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
    // The first page has the newest jobs of this name.
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
