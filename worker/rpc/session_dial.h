#pragma once

#include <memory>

#include "worker/session/worker_session.h"

namespace grpc {
class Channel;
}

namespace rm {

// Sessions over gRPC; why each of them ended is logged.
Dial dial_over(std::shared_ptr<grpc::Channel> channel);  // shared with the other streams

}  // namespace rm
