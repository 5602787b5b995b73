#include "service/grpc_stream.h"

#include <optional>
#include <utility>

#include "ringmaster/v1/worker.grpc.pb.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/grpc_util.h"
#include "service/log.h"

namespace rm {
namespace {

// Either end of the call: Call is a grpc::*ReaderWriter, Context its context.
template <typename WireIn, typename In, typename Call, typename Context>
bool read_converted(Call& call, Context& context, In& message, std::optional<Error>& refused) {
    WireIn wire;
    if (!call.Read(&wire)) return false;
    Result<In> converted = from_proto(wire);
    if (converted) {
        message = *std::move(converted);
        return true;
    }
    refused = converted.error();
    log_event(LogLevel::warning, "session_message_refused", {{"error", refused->message}});
    context.TryCancel();
    return false;
}

class ServerSessionStream final : public MessageStream<WorkerMessage, ControllerMessage> {
public:
    using Call = grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>;
    ServerSessionStream(grpc::ServerContext& context, Call& call)
        : context_(context), call_(call) {}

    bool read(WorkerMessage& message) override {
        return read_converted<pb::WorkerMessage>(call_, context_, message, refused_);
    }
    bool write(const ControllerMessage& message) override { return call_.Write(to_proto(message)); }
    void cancel() override { context_.TryCancel(); }

private:
    grpc::ServerContext& context_;
    Call& call_;
    std::optional<Error> refused_;
};

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
        return read_converted<pb::ControllerMessage>(*call_, context_, message, refused_);
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

std::unique_ptr<MessageStream<WorkerMessage, ControllerMessage>> session_stream(
    grpc::ServerContext& context,
    grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>& call) {
    return std::make_unique<ServerSessionStream>(context, call);
}

std::unique_ptr<ClientSession> open_session(std::shared_ptr<grpc::Channel> channel) {
    return std::make_unique<ClientSessionStream>(std::move(channel));
}

}  // namespace rm
