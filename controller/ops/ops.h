#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/join/join_book.h"
#include "controller/loops/survey_loop.h"
#include "controller/ops/context.h"
#include "controller/session.h"
#include "controller/store/audit_store.h"
#include "ringmaster/v1/admin.pb.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/security/authenticator.h"

// The operations behind the services: one function and one file per RPC.
namespace rm {

namespace pb = ringmaster::v1;

// The caller owns the job, or `default` does if the caller is this machine.
Result<pb::SubmitReply> submit_job(OpsContext& context, const pb::SubmitRequest& request,
                                   const Principal& caller);
// INTERNAL: the planner failed.
Result<pb::PlanReply> plan_job(OpsContext& context, const pb::PlanRequest& request);
// FAILED_PRECONDITION: the job has no attempt yet, or no dry run of its plan can be made.
Result<pb::PlanDetailReply> plan_detail(OpsContext& context, const pb::PlanDetailRequest& request);
Result<pb::ListJobsReply> list_jobs(OpsContext& context, const pb::ListJobsRequest& request);
Result<pb::Job> get_job(OpsContext& context, const pb::GetJobRequest& request);
// PERMISSION_DENIED: a submitter cancels no job of another owner.
Result<pb::Job> cancel_job(OpsContext& context, const pb::CancelJobRequest& request,
                           const Principal& caller);
Result<pb::SubmitReply> continue_job(OpsContext& context, const pb::ContinueJobRequest& request,
                                     const Principal& caller);
Result<pb::ExplainJobReply> explain_job(OpsContext& context, const pb::ExplainJobRequest& request);
Result<pb::HistoryReply> history(OpsContext& context, const pb::HistoryRequest& request);
// INVALID_ARGUMENT names an unknown quantity and those that there are.
Result<pb::StepsReply> steps(OpsContext& context, const pb::StepsRequest& request);
Result<pb::ListNodesReply> list_nodes(OpsContext& context, const pb::ListNodesRequest& request);
Result<pb::Node> get_node(OpsContext& context, const pb::GetNodeRequest& request);
Result<pb::Node> drain_node(OpsContext& context, const pb::DrainNodeRequest& request);
Result<pb::Node> resume_node(OpsContext& context, const pb::ResumeNodeRequest& request);
struct NodeRemoval {
    SessionRegistry& sessions;
    JoinBook& join;
};
// Stops its ranks and ends its session where it has one. Repeating it changes nothing.
Result<pb::Node> remove_node(OpsContext& context, const NodeRemoval& parts,
                             const pb::RemoveNodeRequest& request);
Result<pb::ListAuditReply> list_audit(AuditReader& reader, const pb::ListAuditRequest& request);
Result<pb::LinksReply> list_links(OpsContext& context, const SurveyLoop& surveys,
                                  const pb::LinksRequest& request);
Result<pb::LinkHistoryReply> link_history(OpsContext& context, SurveyStore& store,
                                          const pb::LinkHistoryRequest& request);
Result<pb::PlacementReply> get_placement(OpsContext& context, const SurveyLoop& surveys,
                                         const pb::PlacementRequest& request);
Result<pb::SurveyReply> request_survey(SurveyLoop& surveys);

struct KnownNode {
    NodeId id;
    std::string hostname;
};

// One page of the survey results of `known`, which are in order of registration. ABORTED: the token
// is from another survey.
Result<pb::LinksReply> links_page(const std::vector<KnownNode>& known, const SurveyView& view,
                                  const pb::LinksRequest& request);

// `write` returns false when the caller has gone.
Status watch_job(OpsContext& context, const pb::WatchRequest& request, const StreamCall& call,
                 const std::function<bool(const pb::JobUpdate&)>& write);
Status watch_top(OpsContext& context, const pb::TopRequest& request, const StreamCall& call,
                 const std::function<bool(const pb::TopReply&)>& write);
Status read_logs(OpsContext& context, const pb::LogsRequest& request, const StreamCall& call,
                 const std::function<bool(const pb::LogPiece&)>& write);

}  // namespace rm
