#include "cli/calls.h"

#include <random>

#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/node.grpc.pb.h"
#include "ringmaster/v1/topology.grpc.pb.h"

namespace rm {
namespace {

constexpr int kMostBegins = 3;  // of a list whose pages would be of two surveys

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

}  // namespace rm
