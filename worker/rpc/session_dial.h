#pragma once

#include <memory>

#include "service/security/client_security.h"
#include "worker/session/worker_session.h"

namespace grpc {
class Channel;
}

namespace rm {

// Whom the channel calls, to look at again when a session could not be had.
struct DialTarget {
    std::string address;
    ClientSecurity security;
};

// Sessions over gRPC; why each of them ended is logged.
Dial dial_over(std::shared_ptr<grpc::Channel> channel,  // shared with the other streams
               DialTarget target);

}  // namespace rm
