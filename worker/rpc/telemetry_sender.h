#pragma once

#include <memory>

#include "base/ids.h"
#include "worker/agent/attempts.h"
#include "worker/rpc/controller_channel.h"

namespace rm {

// Runs the telemetry stream on its own threads, so that a controller that does not read telemetry
// delays nothing else. Reopens the stream after every end, from the acknowledged offsets.
class TelemetrySender {
public:
    // `attempts` outlives the sender. Nothing is sent before allow().
    TelemetrySender(std::shared_ptr<ControllerChannel> channel, NodeId node, Attempts& attempts);
    ~TelemetrySender();
    TelemetrySender(const TelemetrySender&) = delete;
    TelemetrySender& operator=(const TelemetrySender&) = delete;

    // Call it once the controller has proved to be of this worker's cluster.
    void allow();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace rm
