#pragma once

#include "base/os/loop.h"
#include "controller/loops/control_loop.h"

namespace rm {

// Tells the core that time has passed: nodes without a session become unreachable, commands whose
// acknowledgement is overdue are derived again, and what due_times() lists happens.
class ClockLoop {
public:
    explicit ClockLoop(ControlLoop& control, Seconds interval = Seconds{1});

private:
    void tick();

    ControlLoop& control_;
    Loop loop_;
};

}  // namespace rm
