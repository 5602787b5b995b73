#include "controller/loops/scheduler_loop.h"

#include <exception>

namespace rm {
namespace {

std::vector<PlanDecision> blame_planner(const PlanningSnapshot& snapshot, const char* what) {
    std::vector<PlanDecision> decisions;
    for (const PlanningJob& job : snapshot.pending) {
        decisions.push_back(
            {job.id, std::vector<std::string>{format("the planner failed: {}", what)}});
    }
    return decisions;
}

}  // namespace

SchedulerLoop::SchedulerLoop(ControlLoop& control, const Clock& clock, Planner planner)
    : control_(control), clock_(clock), planner_(std::move(planner)), thread_([this] { run(); }) {}

SchedulerLoop::~SchedulerLoop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

void SchedulerLoop::request() {
    const std::lock_guard lock(mutex_);
    requested_ = true;
    changed_.notify_one();
}

void SchedulerLoop::run() {
    while (true) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return requested_ || stopping_; });
            if (stopping_) return;
            requested_ = false;
        }
        pass();
    }
}

void SchedulerLoop::pass() {
    const WallTime now = clock_.wall();
    const PlanningSnapshot snapshot =
        control_.read([&](const State& state) { return planning_snapshot(state, now); });
    std::vector<PlanDecision> decisions;
    try {
        decisions = planner_(snapshot);
    } catch (const std::exception& failure) {
        decisions = blame_planner(snapshot, failure.what());
    }
    for (PlanDecision& decision : decisions) {
        control_.post(PlanReady{decision.job, snapshot.version, std::move(decision.decision)});
    }
}

}  // namespace rm
