#pragma once

#include <memory>

#include "service/security/client_security.h"
#include "worker/rpc/controller_channel.h"
#include "worker/session/worker_session.h"

namespace rm {

// The dial target, kept to diagnose a failed connection.
struct DialTarget {
    std::string address;
    ClientSecurity security;
};

// Sessions over gRPC; logs why each of them ended.
Dial dial_over(std::shared_ptr<ControllerChannel> channel,  // shared with the other streams
               DialTarget target);

}  // namespace rm
