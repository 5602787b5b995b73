#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/comm/exchange.h"
#include "engine/comm/message.h"

namespace rm {

// A rank's links to those of its peers that it reaches in one way: by gloo, or through shared
// memory. A LinkTransport routes messages over one or two of these, by peer, with the contract of
// Transport. Called by one thread, except end().
class Links {
public:
    virtual ~Links() = default;

    // Starts a message from or to `data`; returns its number within its peer and direction.
    virtual Result<std::int64_t> start(const MessageInfo& info, std::byte* data) = 0;
    // Returns once that message is over; an error says why it never will be: "rank 2 is gone: ...",
    // "timed out after 5 s". Messages are waited for in any order, each once.
    virtual Status wait(const MessageInfo& info, std::int64_t number, Seconds timeout) = 0;
    // Withdraws all messages and ends all waits, now and later; peers see this rank as gone. When
    // it has returned, no message touches memory. The first reason counts. Any thread.
    virtual void end(const std::string& reason) = 0;

    // By ascending rank.
    virtual std::vector<Connection> connections() const = 0;
};

// Over TCP, by gloo's pairs: bound to `address` and to ports of `options.ports`, or to those that
// the kernel chooses where there is no range. Publishes one blob through `exchange` in group "gloo"
// and connects to `options.peers`. Throws TransportError; also when this build has no gloo.
std::unique_ptr<Links> make_gloo_links(const std::string& address, Exchange& exchange,
                                       const TransportOptions& options);

}  // namespace rm
