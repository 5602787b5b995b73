#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "base/result.h"
#include "base/session.h"
#include "service/convert.h"

// The session of a worker over gRPC as a MessageStream of plain values. One thread may read while
// another writes; cancel() from any. A message that does not convert ends the stream for both
// sides.
namespace rm {

// The controller's end, inside its Session handler; context and call outlive it.
std::unique_ptr<MessageStream<WorkerMessage, ControllerMessage>> session_stream(
    grpc::ServerContext& context,
    grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>& call);

// The worker's end. finish() says why the stream ended: once, after read() has returned false and
// no write is going on (a writer that may be blocked is freed with cancel()).
class ClientSession : public MessageStream<ControllerMessage, WorkerMessage> {
public:
    virtual Status finish() = 0;
};
// Opens the call; whether a controller answers shows at the first read().
std::unique_ptr<ClientSession> open_session(std::shared_ptr<grpc::Channel> channel);

}  // namespace rm
