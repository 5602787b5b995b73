#pragma once

#include <chrono>
#include <cstdint>

#include "engine/comm/communicator.h"
#include "engine/model/stream_order.h"
#include "kernels/kernels.h"

namespace rm {

// Where a rank's state lives and is updated when that is the host; everything is borrowed.
struct HostSide {
    Kernels& kernels;  // of a host device
    Stream& stream;    // a host stream of the device that computes
};

// One rank's streams and its way to the others; everything is borrowed.
struct RankStreams {
    Kernels& kernels;
    Stream& compute;
    Stream& communication;
    Communicator& communicator;
    Stream& to_host;  // of what waits on the host, and back
    Stream& from_host;
    StreamOrder& order;              // of all these, and of their owners' own
    const HostSide* host = nullptr;  // null: state lives on the device
};

// Adds up how long a stream spends between begin and end, as the stream plays them. One at a time.
class StreamTimer {
public:
    void begin(Stream& stream) {
        stream.call_host("timer", [this] { started_ = now(); });
    }
    void end(Stream& stream) {
        stream.call_host("timer", [this] { nanos_ += now() - started_; });
    }
    // Seconds since the last take(); call while the stream is idle.
    double take() {
        const double seconds = static_cast<double>(nanos_) * 1e-9;
        nanos_ = 0;
        return seconds;
    }

private:
    static std::int64_t now() {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    }
    std::int64_t started_ = 0;
    std::int64_t nanos_ = 0;
};

// A pass over the layers.
enum class LayerPass { forward, backward };

struct LayerPassTimers {
    StreamTimer forward;
    StreamTimer backward;
    StreamTimer& of(LayerPass pass) { return pass == LayerPass::forward ? forward : backward; }
    double take() { return forward.take() + backward.take(); }
};

}  // namespace rm
