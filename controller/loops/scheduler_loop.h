#pragma once

#include "base/clock.h"
#include "base/os/loop.h"
#include "controller/core/jobs/make_snapshot.h"
#include "controller/loops/control_loop.h"
#include "planner/plan_jobs.h"

namespace rm {

// Plans on its own thread: at each request it makes a snapshot, asks the planner, and posts one
// PlanReady for each pending job whose decision is new. Requests during a pass cause one further
// pass, after a pause as long as several passes: many jobs must not keep the state busy. If the
// planner throws, every pending job gets that as its blocking reason.
class SchedulerLoop {
public:
    SchedulerLoop(ControlLoop& control, const Clock& clock, MeasuredLinks links, Planner planner);

    void request() { loop_.wake(); }  // any thread

private:
    void pass();
    Seconds pass_and_pause(const std::stop_token& stop);

    ControlLoop& control_;
    const Clock& clock_;
    const MeasuredLinks links_;
    const Planner planner_;
    Loop loop_;
};

}  // namespace rm
