#pragma once

#include "base/os/loop.h"
#include "controller/loops/control_loop.h"

namespace rm {

// Tells the core that time has passed: it marks nodes without a session unreachable, repeats
// commands whose acknowledgement is overdue, and does what due_times() lists.
class ClockLoop {
public:
    explicit ClockLoop(ControlLoop& control, Seconds interval = Seconds{1});

private:
    void tick();

    ControlLoop& control_;
    Loop loop_;
};

}  // namespace rm
