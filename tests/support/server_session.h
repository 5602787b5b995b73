#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "ringmaster/v1/worker.pb.h"
#include "service/convert/convert.h"
#include "service/log.h"
#include "spec/session.h"

namespace rm {

// A controller's end of a worker's session, inside its Session handler. A message that does not
// convert ends the stream for both sides. Context and call outlive it.
class ServerSessionStream final : public MessageStream<WorkerMessage, ControllerMessage> {
public:
    using Call = grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>;

    ServerSessionStream(grpc::ServerContext& context, Call& call)
        : context_(context), call_(call) {}

    bool read(WorkerMessage& message) override {
        pb::WorkerMessage wire;
        if (!call_.Read(&wire)) return false;
        Result<WorkerMessage> converted = from_proto(wire);
        if (converted) {
            message = *std::move(converted);
            return true;
        }
        log_event(LogLevel::warning, "session_message_refused",
                  {{"error", converted.error().message}});
        cancel();
        return false;
    }
    bool write(const ControllerMessage& message) override { return call_.Write(to_proto(message)); }
    void cancel() override { context_.TryCancel(); }

private:
    grpc::ServerContext& context_;
    Call& call_;
};

inline std::unique_ptr<MessageStream<WorkerMessage, ControllerMessage>> session_stream(
    grpc::ServerContext& context, ServerSessionStream::Call& call) {
    return std::make_unique<ServerSessionStream>(context, call);
}

}  // namespace rm
