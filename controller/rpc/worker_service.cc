#include <grpcpp/server_context.h>

#include "controller/rpc/services.h"
#include "controller/rpc/session_reactor.h"
#include "controller/rpc/telemetry_reactor.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/grpc_util.h"

namespace rm {
namespace {

// Both streams are open for as long as a worker lives: neither may cost a thread.
class WorkerService final : public pb::WorkerService::CallbackService {
public:
    WorkerService(const SessionContext& session, OpsContext& ops, TelemetryLoop& telemetry)
        : session_(session), ops_(ops), telemetry_(telemetry) {}

    SessionCall* Session(grpc::CallbackServerContext* call) override {
        return new SessionReactor(*call, session_);
    }
    TelemetryCall* Telemetry(grpc::CallbackServerContext*) override {
        return serve_telemetry(ops_, telemetry_);
    }

private:
    const SessionContext& session_;
    OpsContext& ops_;
    TelemetryLoop& telemetry_;
};

class RendezvousService final : public pb::RendezvousService::Service {
public:
    explicit RendezvousService(ExchangeTable& table) : table_(table) {}

    grpc::Status Exchange(grpc::ServerContext* context, const pb::ExchangeRequest* request,
                          pb::ExchangeReply* reply) override {
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

private:
    ExchangeTable& table_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_worker_service(const SessionContext& session,
                                                   OpsContext& context, TelemetryLoop& telemetry) {
    return std::make_unique<WorkerService>(session, context, telemetry);
}
std::unique_ptr<grpc::Service> make_rendezvous_service(ExchangeTable& table) {
    return std::make_unique<RendezvousService>(table);
}

}  // namespace rm
