#pragma once

#include <gloo/transport/context.h>

#include <memory>
#include <string>

#include "engine/comm/transport/transport.h"

namespace rm {

// The gloo contexts of one rank. gloo's pairs listen on the port of their context's device: each
// pair has its own context, and a thread of gloo's, on a port of `options.ports`. Without a range
// all pairs share a context whose ports the kernel chooses.
class GlooContexts {
public:
    using Context = gloo::transport::Context;
    GlooContexts(std::string address, const TransportOptions& options)
        : address_(std::move(address)), options_(options), next_port_(options.ports.first) {}

    // A context with a pair for this peer. Throws std::exception: it cannot listen; and
    // std::runtime_error naming the range when none of its ports is free.
    std::shared_ptr<Context> with_pair(int peer);

private:
    std::shared_ptr<Context> make(int port) const;  // 0: the kernel chooses
    std::shared_ptr<Context> in_range(int peer);

    const std::string address_;
    const TransportOptions& options_;
    int next_port_;
    std::shared_ptr<Context> shared_;
};

}  // namespace rm
