#include "service/grpc/grpc_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <optional>
#include <utility>

#include "ringmaster/v1/worker.grpc.pb.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"

namespace rm {
namespace {

class ClientSessionStream final : public ClientSession {
public:
    explicit ClientSessionStream(std::shared_ptr<grpc::Channel> channel)
        : stub_(pb::WorkerService::NewStub(std::move(channel))), call_(stub_->Session(&context_)) {}

    ~ClientSessionStream() override {
        if (finished_) return;
        cancel();
        call_->Finish();
    }

    bool read(ControllerMessage& message) override {
        pb::ControllerMessage wire;
        if (!call_->Read(&wire)) return false;
        Result<ControllerMessage> converted = from_proto(wire);
        if (converted) {
            message = *std::move(converted);
            return true;
        }
        refused_ = converted.error();
        log_event(LogLevel::warning, "session_message_refused", {{"error", refused_->message}});
        cancel();
        return false;
    }
    bool write(const WorkerMessage& message) override { return call_->Write(to_proto(message)); }
    void cancel() override { context_.TryCancel(); }

    Status finish() override {
        finished_ = true;
        const grpc::Status status = call_->Finish();
        if (refused_) return *refused_;
        if (status.ok()) return {};
        return from_grpc(status);
    }

private:
    grpc::ClientContext context_;
    std::unique_ptr<pb::WorkerService::Stub> stub_;
    std::unique_ptr<grpc::ClientReaderWriter<pb::WorkerMessage, pb::ControllerMessage>> call_;
    std::optional<Error> refused_;
    bool finished_ = false;
};

}  // namespace

std::unique_ptr<ClientSession> open_session(std::shared_ptr<grpc::Channel> channel) {
    return std::make_unique<ClientSessionStream>(std::move(channel));
}

}  // namespace rm
