#pragma once

#include <memory>

#include "base/ids.h"
#include "worker/agent/exchange_server.h"
#include "worker/rpc/controller_channel.h"

namespace rm {

// RendezvousService of the controller; repeats its calls while the controller cannot be reached.
std::unique_ptr<Rendezvous> make_grpc_rendezvous(std::shared_ptr<ControllerChannel> channel,
                                                 NodeId node);

}  // namespace rm
