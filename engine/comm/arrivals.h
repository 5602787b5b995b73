#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <vector>

#include "base/units.h"
#include "spec/report.h"

namespace rm {

// How fast messages come from each peer. Messages that follow each other without a pause, the next
// one posted before the last was over, are one run: its rate is their bytes over the time since its
// first was posted. So it is never more than the link gives, whatever the order in which the
// messages of a run are waited for. Written by the communication thread, taken by any; no locks.
class Arrivals {
public:
    using Clock = std::chrono::steady_clock;

    Arrivals() = default;
    explicit Arrivals(const std::vector<int>& peers);

    void over(int from, std::int64_t bytes, Clock::time_point posted, Clock::time_point now);
    // Since the last call, by peer: those of which a run was long enough.
    std::map<int, HopRate> take();

    // A shorter run says more of latency than of the link's rate.
    static constexpr Bytes kLeast{std::int64_t{256} << 10};

private:
    struct Peer {
        Clock::time_point run_began;
        Clock::time_point last_over;
        std::int64_t run_bytes = 0;
        std::atomic<std::int64_t> bytes{0};
        std::atomic<double> best{0};  // bytes/s
    };
    std::map<int, Peer> peers_;
};

}  // namespace rm
