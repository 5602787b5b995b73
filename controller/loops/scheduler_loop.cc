#include "controller/loops/scheduler_loop.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace rm {
namespace {

// A pass and its pause: planning takes at most a fifth of the time, and answers within a second of
// its own time.
constexpr double kPausePerPass = 4;
constexpr Seconds kLongestPause{1};

std::vector<PlanDecision> blame_planner(const PlanningSnapshot& snapshot, const char* what) {
    std::vector<PlanDecision> decisions;
    for (const PlanningJob& job : snapshot.pending) {
        decisions.push_back(
            {job.id, std::vector<std::string>{format("the planner failed: {}", what)}});
    }
    return decisions;
}

bool is_news(const State& state, const PlanDecision& decision) {
    const auto* reasons = std::get_if<std::vector<std::string>>(&decision.decision);
    if (reasons == nullptr) return true;
    const Job* job = find_job(state, decision.job);
    return job != nullptr && job->blocking_reasons != *reasons;
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
        const MonoTime start = clock_.mono();
        pass();
        const Seconds taken = clock_.mono() - start;
        if (!pause(std::min(Seconds{taken.value * kPausePerPass}, kLongestPause))) return;
    }
}

bool SchedulerLoop::pause(Seconds span) {
    std::unique_lock lock(mutex_);
    const auto length = std::chrono::duration<double>(span.value);
    return !changed_.wait_for(lock, length, [&] { return stopping_; });
}

void SchedulerLoop::pass() {
    const WallTime now = control_.steady_now();
    const PlanningSnapshot snapshot =
        control_.read([&](const State& state) { return planning_snapshot(state, now); });
    std::vector<PlanDecision> decisions;
    try {
        decisions = planner_(snapshot);
    } catch (const std::exception& failure) {
        decisions = blame_planner(snapshot, failure.what());
    }
    for (const JobId& id : snapshot.behind)
        decisions.push_back({id, std::vector<std::string>{behind_reason()}});
    control_.read([&](const State& state) {
        std::erase_if(decisions, [&](const PlanDecision& d) { return !is_news(state, d); });
    });
    for (PlanDecision& decision : decisions) {
        control_.post(PlanReady{decision.job, snapshot.version, std::move(decision.decision)});
    }
}

}  // namespace rm
