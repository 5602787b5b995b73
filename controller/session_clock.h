#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace rm {

using SteadyTime = std::chrono::steady_clock::time_point;

class Beating {
public:
    virtual ~Beating() = default;
    // Called at the time the last beat asked for, at the latest a tick later; the time of the next,
    // SteadyTime::max(): none.
    virtual SteadyTime beat(SteadyTime now) = 0;
};

// One thread that beats for thousands. What has gone is forgotten.
class SessionClock {
public:
    SessionClock() : thread_([this] { run(); }) {}
    ~SessionClock();

    void add(std::weak_ptr<Beating> member, SteadyTime first);

private:
    using Due = std::multimap<SteadyTime, std::weak_ptr<Beating>>;
    void run();
    Due take_due(SteadyTime now);
    void beat_all(Due due, SteadyTime now);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    Due due_;
    std::thread thread_;
};

}  // namespace rm
