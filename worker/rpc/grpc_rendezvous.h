#pragma once

#include <memory>

#include "base/ids.h"
#include "worker/agent/exchange_server.h"

namespace grpc {
class Channel;
}

namespace rm {

// RendezvousService of the controller; repeats its calls while the controller cannot be reached.
std::unique_ptr<Rendezvous> make_grpc_rendezvous(std::shared_ptr<grpc::Channel> channel,
                                                 NodeId node);

}  // namespace rm
