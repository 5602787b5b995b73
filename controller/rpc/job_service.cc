#include <grpcpp/server_context.h>

#include "controller/ops/ops.h"
#include "controller/rpc/caller.h"
#include "controller/rpc/seats.h"
#include "controller/rpc/services.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/node.grpc.pb.h"
#include "service/grpc/grpc_util.h"

namespace rm {
namespace {

template <typename T>
auto writer_to(grpc::ServerWriter<T>* stream) {
    return [stream](const T& message) { return stream->Write(message); };
}

StreamCall call_of(grpc::ServerContext* context) {
    return {[context] { return context->IsCancelled(); }};
}

class JobService final : public pb::JobService::Service {
public:
    JobService(OpsContext& ops, const Gatekeeper& gatekeeper)
        : ops_(ops), gatekeeper_(gatekeeper) {}

    grpc::Status Submit(grpc::ServerContext* context, const pb::SubmitRequest* request,
                        pb::SubmitReply* reply) override {
        return answer(called(submit_job, *context, *request), reply);
    }
    grpc::Status Plan(grpc::ServerContext*, const pb::PlanRequest* request,
                      pb::PlanReply* reply) override {
        return answer(plan_job(ops_, *request), reply);
    }
    grpc::Status PlanDetail(grpc::ServerContext*, const pb::PlanDetailRequest* request,
                            pb::PlanDetailReply* reply) override {
        return answer(plan_detail(ops_, *request), reply);
    }
    grpc::Status List(grpc::ServerContext*, const pb::ListJobsRequest* request,
                      pb::ListJobsReply* reply) override {
        return answer(list_jobs(ops_, *request), reply);
    }
    grpc::Status Get(grpc::ServerContext*, const pb::GetJobRequest* request,
                     pb::Job* reply) override {
        return answer(get_job(ops_, *request), reply);
    }
    grpc::Status Cancel(grpc::ServerContext* context, const pb::CancelJobRequest* request,
                        pb::Job* reply) override {
        return answer(called(cancel_job, *context, *request), reply);
    }
    grpc::Status Continue(grpc::ServerContext* context, const pb::ContinueJobRequest* request,
                          pb::SubmitReply* reply) override {
        return answer(called(continue_job, *context, *request), reply);
    }
    grpc::Status Explain(grpc::ServerContext*, const pb::ExplainJobRequest* request,
                         pb::ExplainJobReply* reply) override {
        return answer(explain_job(ops_, *request), reply);
    }
    grpc::Status Watch(grpc::ServerContext* context, const pb::WatchRequest* request,
                       grpc::ServerWriter<pb::JobUpdate>* stream) override {
        return seated(*context, [&] {
            return watch_job(ops_, *request, call_of(context), writer_to(stream));
        });
    }
    grpc::Status Logs(grpc::ServerContext* context, const pb::LogsRequest* request,
                      grpc::ServerWriter<pb::LogPiece>* stream) override {
        return seated(*context, [&] {
            return read_logs(ops_, *request, call_of(context), writer_to(stream));
        });
    }
    grpc::Status History(grpc::ServerContext*, const pb::HistoryRequest* request,
                         pb::HistoryReply* reply) override {
        return answer(history(ops_, *request), reply);
    }
    grpc::Status Steps(grpc::ServerContext*, const pb::StepsRequest* request,
                       pb::StepsReply* reply) override {
        return answer(steps(ops_, *request), reply);
    }
    grpc::Status Top(grpc::ServerContext* context, const pb::TopRequest* request,
                     grpc::ServerWriter<pb::TopReply>* stream) override {
        return seated(*context, [&] {
            return watch_top(ops_, *request, call_of(context), writer_to(stream));
        });
    }

private:
    template <typename Reply, typename Request>
    Result<Reply> called(Result<Reply> (*operation)(OpsContext&, const Request&, const Principal&),
                         const grpc::ServerContext& context, const Request& request) {
        RM_TRY(const Principal caller, caller_of(context, gatekeeper_));
        return operation(ops_, request, caller);
    }
    // A stream holds its thread until the caller leaves.
    template <typename Call>
    grpc::Status seated(grpc::ServerContext& context, const Call& call) {
        const auto caller = caller_of(context, gatekeeper_);
        if (!caller) return to_grpc(caller.error());
        const auto seat = seats_.take(format("{} {}", caller->name, caller->credential));
        return seat ? to_grpc(call()) : to_grpc(seat.error());
    }

    OpsContext& ops_;
    const Gatekeeper& gatekeeper_;
    Seats seats_{{}};
};

class NodeService final : public pb::NodeService::Service {
public:
    NodeService(OpsContext& ops, NodeRemoval removal) : ops_(ops), removal_(removal) {}

    grpc::Status List(grpc::ServerContext*, const pb::ListNodesRequest* request,
                      pb::ListNodesReply* reply) override {
        return answer(list_nodes(ops_, *request), reply);
    }
    grpc::Status Get(grpc::ServerContext*, const pb::GetNodeRequest* request,
                     pb::Node* reply) override {
        return answer(get_node(ops_, *request), reply);
    }
    grpc::Status Drain(grpc::ServerContext*, const pb::DrainNodeRequest* request,
                       pb::Node* reply) override {
        return answer(drain_node(ops_, *request), reply);
    }
    grpc::Status Resume(grpc::ServerContext*, const pb::ResumeNodeRequest* request,
                        pb::Node* reply) override {
        return answer(resume_node(ops_, *request), reply);
    }
    grpc::Status Remove(grpc::ServerContext*, const pb::RemoveNodeRequest* request,
                        pb::Node* reply) override {
        return answer(remove_node(ops_, removal_, *request), reply);
    }

private:
    OpsContext& ops_;
    const NodeRemoval removal_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_job_service(OpsContext& context, const Gatekeeper& gatekeeper) {
    return std::make_unique<JobService>(context, gatekeeper);
}
std::unique_ptr<grpc::Service> make_node_service(OpsContext& context, NodeRemoval removal) {
    return std::make_unique<NodeService>(context, removal);
}

}  // namespace rm
