#pragma once

#include <functional>

#include "base/clock.h"
#include "base/loop.h"
#include "controller/loops/control_loop.h"
#include "controller/plan_trivial.h"

namespace rm {

using Planner = std::function<std::vector<PlanDecision>(const PlanningSnapshot&)>;

// Plans on its own thread: at each request it takes a snapshot of the state, asks the planner, and
// posts one PlanReady for each pending job whose decision is news. Requests during a pass make one
// further pass, after a pause as long as several passes: many jobs must not keep the state busy. A
// planner that throws is one blocking reason for every pending job.
class SchedulerLoop {
public:
    SchedulerLoop(ControlLoop& control, const Clock& clock, Planner planner);

    void request() { loop_.wake(); }  // any thread

private:
    void pass();
    Seconds pass_and_pause(const std::stop_token& stop);

    ControlLoop& control_;
    const Clock& clock_;
    const Planner planner_;
    Loop loop_;
};

}  // namespace rm
