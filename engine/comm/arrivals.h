#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <vector>

#include "base/units.h"
#include "spec/report.h"

namespace rm {

// Measures how fast messages arrive from each peer. Messages without a pause between them (each is
// posted before the previous one ends) form a run; its rate is its bytes over the time since its
// first message was posted. The rate never exceeds the link's, in whatever order the messages of a
// run are waited for. The communication thread writes, any thread takes; no locks.
class Arrivals {
public:
    using Clock = std::chrono::steady_clock;

    Arrivals() = default;
    explicit Arrivals(const std::vector<int>& peers);

    void over(int from, std::int64_t bytes, Clock::time_point posted, Clock::time_point now);
    // The best rates since the last call, by peer; peers without a long enough run are left out.
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
