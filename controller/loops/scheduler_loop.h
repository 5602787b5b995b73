#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
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
    ~SchedulerLoop();

    void request();  // any thread

private:
    void run();
    void pass();
    bool pause(Seconds span);  // false: the loop is ending

    ControlLoop& control_;
    const Clock& clock_;
    const Planner planner_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool requested_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace rm
