#pragma once

#include <mutex>
#include <stop_token>
#include <thread>

#include "base/os/loop.h"
#include "base/units.h"

namespace rm {

// SIGINT, SIGTERM, SIGHUP (an interrupt) and SIGCHLD as events. They are blocked for the whole
// process, so make this before any other thread starts; children made by spawn_daemon get a clean
// mask. One per process at a time.
class Signals {
public:
    struct Arrived {
        int interrupts = 0;
        int child_changes = 0;
    };

    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // Requests a stop as soon as an event has arrived that take() has not returned.
    std::stop_token token() const;
    // The events since the last call; token() is a new one from here on.
    Arrived take();
    // Returns early when an event arrives.
    void wait_for(Seconds limit) const;

private:
    void deliver();

    int fd_ = -1;
    int wake_ = -1;  // eventfd that ends the thread
    mutable std::mutex mutex_;
    Arrived arrived_;
    std::stop_source source_;
    std::thread thread_;
};

}  // namespace rm
