#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "controller/loops/control_loop.h"

namespace rm {

// Tells the core that time has passed: nodes without a session become unreachable, commands whose
// acknowledgement is overdue are derived again, and what due_times() lists happens.
class ClockLoop {
public:
    explicit ClockLoop(ControlLoop& control, Seconds interval = Seconds{1});
    ~ClockLoop();

private:
    void run();
    void tick();

    ControlLoop& control_;
    const Seconds interval_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace rm
