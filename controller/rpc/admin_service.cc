#include <grpcpp/server_context.h>

#include "controller/ops/ops.h"
#include "controller/rpc/services.h"
#include "ringmaster/v1/admin.grpc.pb.h"
#include "service/grpc_util.h"

namespace rm {
namespace {

class AdminService final : public pb::AdminService::Service {
public:
    AdminService(AuditLoop& audit, AuditReader& reader) : audit_(audit), reader_(reader) {}

    grpc::Status Audit(grpc::ServerContext*, const pb::ListAuditRequest* request,
                       pb::ListAuditReply* reply) override {
        audit_.flush();
        auto rows = list_audit(reader_, *request);
        if (!rows) return to_grpc(rows.error());
        *reply = *std::move(rows);
        return grpc::Status::OK;
    }

private:
    AuditLoop& audit_;
    AuditReader& reader_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_admin_service(AuditLoop& audit, AuditReader& reader) {
    return std::make_unique<AdminService>(audit, reader);
}

}  // namespace rm
