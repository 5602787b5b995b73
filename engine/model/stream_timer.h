#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "kernels/device.h"

namespace rm {

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

// Timers of both passes.
struct PassTimers {
    StreamTimer forward;
    StreamTimer backward;
    double take() { return forward.take() + backward.take(); }
};

}  // namespace rm
