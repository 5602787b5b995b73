#include <grpcpp/server_context.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>

#include "controller/ops/ops.h"
#include "controller/rpc/caller.h"
#include "controller/rpc/services.h"
#include "controller/store/backup.h"
#include "ringmaster/v1/admin.grpc.pb.h"
#include "service/grpc/grpc_util.h"

namespace rm {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

class RemovedAtEnd {
public:
    explicit RemovedAtEnd(std::string path) : path_(std::move(path)) {}
    RemovedAtEnd(const RemovedAtEnd&) = delete;
    RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;
    ~RemovedAtEnd() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

private:
    const std::string path_;
};

class AdminService final : public pb::AdminService::Service {
public:
    AdminService(AuditLoop& audit, AuditReader& reader, std::string state_dir)
        : audit_(audit), reader_(reader), state_dir_(std::move(state_dir)) {}

    grpc::Status Audit(grpc::ServerContext*, const pb::ListAuditRequest* request,
                       pb::ListAuditReply* reply) override {
        audit_.flush();
        return answer(list_audit(reader_, *request), reply);
    }

    grpc::Status Backup(grpc::ServerContext*, const pb::BackupRequest* request,
                        grpc::ServerWriter<pb::BackupPiece>* stream) override {
        const std::string database =
            format("{}/{}.db", state_dir_, request->telemetry() ? "telemetry" : "control");
        const RemovedAtEnd copy(format("{}.sending-{}", database, ++number_));
        if (const Status made = backup_database(database, copy.path()); !made) {
            return to_grpc(made);
        }
        std::ifstream file(copy.path(), std::ios::binary);
        std::string piece(kPieceBytes, '\0');
        pb::BackupPiece message;
        while (file.read(piece.data(), kPieceBytes), file.gcount() > 0) {
            message.set_data(piece.data(), usize(file.gcount()));
            if (!stream->Write(message)) break;
        }
        return grpc::Status::OK;
    }

private:
    AuditLoop& audit_;
    AuditReader& reader_;
    const std::string state_dir_;
    std::atomic<int> number_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> make_admin_service(AuditLoop& audit, AuditReader& reader,
                                                  const std::string& state_dir) {
    return std::make_unique<AdminService>(audit, reader, state_dir);
}

}  // namespace rm
