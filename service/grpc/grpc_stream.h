#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "base/result.h"
#include "spec/session.h"

namespace rm {

// The session of a worker over gRPC as a MessageStream of plain values: the worker's end. One
// thread may read while another writes; cancel() from any. A message that does not convert ends the
// stream for both sides. finish() says why the stream ended: once, after read() has returned false
// and no write is under way (a writer that may be blocked is freed with cancel()).
class ClientSession : public MessageStream<ControllerMessage, WorkerMessage> {
public:
    virtual Status finish() = 0;
};
// Opens the call; whether a controller answers shows at the first read().
std::unique_ptr<ClientSession> open_session(std::shared_ptr<grpc::Channel> channel);

}  // namespace rm
