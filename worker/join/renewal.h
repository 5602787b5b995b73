#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/os/loop.h"
#include "service/log.h"
#include "worker/join/node_pki.h"
#include "worker/rpc/controller_channel.h"

namespace rm {

// Renews the certificate of a node that has joined, with a new key, once two thirds of its time are
// over: puts both in the place of the old ones, opens a channel with them and has the session dial
// again. Ranks do not notice. A failure is logged and tried again until it succeeds.
class Renewal {
public:
    struct Parts {
        NodePki pki;
        NodeId node;
        std::string controller;
        std::string server_name;
        std::shared_ptr<ControllerChannel> channel;  // also the session's and other streams'
        std::function<void(WallTime)> expires;       // learns of each certificate's end
        std::function<void()> renewed;
    };
    explicit Renewal(Parts parts);
    void stop() { loop_.stop(); }

private:
    Seconds look();
    Status renew();

    const Parts parts_;
    const SystemClock clock_;
    RepeatedEvent failed_{"certificate_not_renewed"};
    Loop loop_;
};

// When a certificate is to be renewed, and how long to wait after a failure.
WallTime renewal_time(const Lifetime& lifetime);
Seconds retry_pause(const Lifetime& lifetime);

}  // namespace rm
