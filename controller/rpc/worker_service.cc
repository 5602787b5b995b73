#include <grpcpp/server_context.h>

#include "controller/rpc/caller.h"
#include "controller/rpc/services.h"
#include "controller/rpc/session_reactor.h"
#include "controller/rpc/telemetry_reactor.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/grpc/grpc_util.h"

namespace rm {
namespace {

// Both streams are open for as long as a worker lives: neither may cost a thread.
class WorkerService final : public pb::WorkerService::CallbackService {
public:
    WorkerService(const SessionContext& session, OpsContext& ops, TelemetryLoop& telemetry,
                  SurveyLoop& surveys, const Gatekeeper& gatekeeper)
        : session_(session),
          ops_(ops),
          telemetry_(telemetry),
          surveys_(surveys),
          gatekeeper_(gatekeeper) {}

    SessionCall* Session(grpc::CallbackServerContext* call) override {
        return new SessionReactor(*call, session_, gatekeeper_);
    }
    TelemetryCall* Telemetry(grpc::CallbackServerContext* call) override {
        return serve_telemetry(*call, ops_, telemetry_, surveys_, gatekeeper_);
    }

private:
    const SessionContext& session_;
    OpsContext& ops_;
    TelemetryLoop& telemetry_;
    SurveyLoop& surveys_;
    const Gatekeeper& gatekeeper_;
};

class RendezvousService final : public pb::RendezvousService::Service {
public:
    RendezvousService(ExchangeTable& table, ControlLoop& control, const Gatekeeper& gatekeeper)
        : table_(table), control_(control), gatekeeper_(gatekeeper) {}

    grpc::Status Exchange(grpc::ServerContext* context, const pb::ExchangeRequest* request,
                          pb::ExchangeReply* reply) override {
        if (const Status own = check_caller(*context, *request); !own) return to_grpc(own);
        ExchangeTable::Request wanted{
            {request->epoch()}, request->group(), {request->node_id()}, {}};
        for (const auto& [rank, blob] : request->blobs())
            wanted.blobs.emplace(rank, blob);
        const auto table = table_.exchange(wanted, [&] { return context->IsCancelled(); });
        if (!table) return to_grpc(table.error());
        for (const std::string& blob : *table)
            reply->add_blobs(blob);
        return grpc::Status::OK;
    }

    grpc::Status Publish(grpc::ServerContext* context, const pb::PublishRequest* request,
                         pb::PublishReply* /*reply*/) override {
        if (const Status own = check_caller(*context, *request); !own) return to_grpc(own);
        const auto answer = control_.call(AskToPublish{{request->epoch()}});
        return answer ? grpc::Status::OK : to_grpc(answer.error());
    }

private:
    template <typename Request>
    Status check_caller(const grpc::ServerContext& context, const Request& request) const {
        RM_TRY(const Principal caller, caller_of(context, gatekeeper_));
        return check_speaks_for(caller, {request.node_id()});
    }

    ExchangeTable& table_;
    ControlLoop& control_;
    const Gatekeeper& gatekeeper_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_worker_service(const SessionContext& session,
                                                   OpsContext& context, TelemetryLoop& telemetry,
                                                   SurveyLoop& surveys,
                                                   const Gatekeeper& gatekeeper) {
    return std::make_unique<WorkerService>(session, context, telemetry, surveys, gatekeeper);
}
std::unique_ptr<grpc::Service> make_rendezvous_service(ExchangeTable& table, ControlLoop& control,
                                                       const Gatekeeper& gatekeeper) {
    return std::make_unique<RendezvousService>(table, control, gatekeeper);
}

}  // namespace rm
