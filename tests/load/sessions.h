#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

namespace rm::load {

struct SessionCounts {
    int opened = 0;  // hello answered
    int ended = 0;   // by the controller or a broken connection
    long echoes = 0;
};

// Workers as the controller sees them when nothing trains: each has a connection of its own, a
// session that echoes pings and an idle telemetry stream.
class Sessions {
public:
    // `per_second`: how many are opened per second.
    Sessions(const std::string& address, int count, double per_second);
    ~Sessions();

    // Waits until every hello is answered; false: not within this time.
    bool wait_until_open(Seconds limit);
    SessionCounts counts() const;

private:
    class Worker;
    struct Counters {
        std::atomic<int> opened{0};
        std::atomic<int> ended{0};
        std::atomic<long> echoes{0};
    };
    Counters counters_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace rm::load
