#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/streams/stream_order.h"
#include "kernels/kernels.h"

namespace rm {

// Adds up how long a stream spends between begin and end, as the stream plays them. One at a time.
class StreamTimer {
public:
    void begin(Stream& stream) {
        stream.call_host("timer", [this] { started_ = now(); });
    }
    void end(Stream& stream) {
        stream.call_host("timer", [this] {
            const std::int64_t nanos = now() - started_;
            nanos_ += nanos;
            if (keeps_each_) each_.push_back(static_cast<double>(nanos) * 1e-9);
        });
    }
    // From now on each interval is kept, in order. Call both while the stream is idle.
    void keep_each() { keeps_each_ = true; }
    std::vector<double> take_each() { return std::exchange(each_, {}); }
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
    bool keeps_each_ = false;
    std::vector<double> each_;  // seconds
};

// The host as the place where a rank's state lives and is updated; borrows everything.
struct HostSide {
    Kernels& kernels;  // of a host device
    Stream& stream;    // a host stream of the device that computes
};

// One rank's streams and its communicator; borrows everything.
struct RankStreams {
    Kernels& kernels;
    Stream& compute;
    Stream& communication;
    Communicator& communicator;
    Stream& to_host;  // carries activations to the host; the next one, back
    Stream& from_host;
    StreamOrder& order;              // of these, and of streams that their owners make
    const HostSide* host = nullptr;  // null: state lives on the device

    // Makes compute wait for the event; `exposed` measures how long.
    void wait_exposed(const Event& event, StreamTimer& exposed) const {
        exposed.begin(compute);
        order.wait(compute, event);
        exposed.end(compute);
    }
};

// Communication in the middle of compute. In each of several lanes one exchange at a time may be
// under way.
class ExposedExchange {
public:
    ExposedExchange(const RankStreams& streams, int lanes) : streams_(streams) {
        for (int i = 0; i < lanes; ++i) {
            lanes_.push_back(
                {streams.kernels.device().make_event(), streams.kernels.device().make_event()});
        }
    }
    // `queue` calls the communicator, which follows compute.
    template <typename Queue>
    void start(int lane, Queue queue) {
        const Lane& at = lanes_[usize(lane)];
        streams_.order.follow(streams_.communication, streams_.compute, *at.ready);
        queue(streams_.communicator);
        streams_.order.record(streams_.communication, *at.arrived);
    }
    // Compute waits.
    void arrive(int lane) { streams_.wait_exposed(*lanes_[usize(lane)].arrived, exposed_); }
    StreamTimer& exposed() { return exposed_; }

private:
    struct Lane {
        std::unique_ptr<Event> ready;
        std::unique_ptr<Event> arrived;
    };
    RankStreams streams_;
    std::vector<Lane> lanes_;
    StreamTimer exposed_;
};

// A pass over a layer. `again`: its forward pass once more, within the backward pass.
enum class LayerPass { forward, again, backward };

struct LayerPassTimers {
    StreamTimer forward;
    StreamTimer backward;
    StreamTimer& of(LayerPass pass) { return pass == LayerPass::forward ? forward : backward; }
    double take() { return forward.take() + backward.take(); }
};

}  // namespace rm
