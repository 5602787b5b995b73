#pragma once

#include <memory>

#include "base/ids.h"
#include "worker/agent/attempts.h"

namespace grpc {
class Channel;
}

namespace rm {

// The telemetry stream, on threads of its own: a controller that does not take its logs delays
// nothing but them. Reopens after every end, from the acknowledged offsets.
class TelemetrySender {
public:
    // `attempts` outlives the sender. Nothing is sent before allow().
    TelemetrySender(std::shared_ptr<grpc::Channel> channel, NodeId node, Attempts& attempts);
    ~TelemetrySender();
    TelemetrySender(const TelemetrySender&) = delete;
    TelemetrySender& operator=(const TelemetrySender&) = delete;

    // The controller has been found to be of this worker's cluster.
    void allow();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
