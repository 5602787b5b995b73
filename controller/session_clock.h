#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "base/os/loop.h"

namespace rm {

using SteadyTime = std::chrono::steady_clock::time_point;

class Beating {
public:
    virtual ~Beating() = default;
    // Called at the time that the last beat returned, at most a tick later. Returns the time of the
    // next beat; SteadyTime::max(): none.
    virtual SteadyTime beat(SteadyTime now) = 0;
};

// One thread that serves thousands of members and drops those that no longer exist.
class SessionClock {
public:
    SessionClock() : loop_([this](auto& stop) { return beat_due(stop); }, Loop::kUntilWoken) {}

    void add(std::weak_ptr<Beating> member, SteadyTime first);

private:
    using Due = std::multimap<SteadyTime, std::weak_ptr<Beating>>;
    Seconds beat_due(const std::stop_token& stop);
    Due take_due(SteadyTime now);
    void beat_all(Due due, SteadyTime now);

    std::mutex mutex_;
    Due due_;
    Loop loop_;
};

}  // namespace rm
