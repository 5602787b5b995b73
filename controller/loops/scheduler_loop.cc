#include "controller/loops/scheduler_loop.h"

#include <algorithm>
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
        decisions.push_back({job.id, Reasons{reason_from(format("the planner failed: {}", what))}});
    }
    return decisions;
}

bool is_news(const State& state, const PlanDecision& decision) {
    const auto* reasons = std::get_if<Reasons>(&decision.decision);
    if (reasons == nullptr) return true;
    const Job* job = find_job(state, decision.job);
    return job != nullptr && job->blocking_reasons != *reasons;
}

}  // namespace

SchedulerLoop::SchedulerLoop(ControlLoop& control, const Clock& clock, MeasuredLinks links,
                             Planner planner)
    : control_(control),
      clock_(clock),
      links_(std::move(links)),
      planner_(std::move(planner)),
      loop_([this](auto& stop) { return pass_and_pause(stop); }, Loop::kUntilWoken) {}

Seconds SchedulerLoop::pass_and_pause(const std::stop_token& stop) {
    const MonoTime start = clock_.mono();
    pass();
    const Seconds taken = clock_.mono() - start;
    sleep_for(std::min(Seconds{taken.value * kPausePerPass}, kLongestPause), stop);
    return Loop::kUntilWoken;
}

void SchedulerLoop::pass() {
    const WallTime now = control_.steady_now();
    PlanningSnapshot snapshot =
        control_.read([&](const State& state) { return planning_snapshot(state, now); });
    std::vector<PlanDecision> decisions;
    try {
        add_links(snapshot, links_);
        decisions = planner_(snapshot);
    } catch (const std::exception& failure) {
        decisions = blame_planner(snapshot, failure.what());
    }
    for (const JobId& id : snapshot.behind)
        decisions.push_back({id, Reasons{behind_reason()}});
    control_.read([&](const State& state) {
        std::erase_if(decisions, [&](const PlanDecision& d) { return !is_news(state, d); });
    });
    for (PlanDecision& decision : decisions) {
        control_.post(PlanReady{decision.job, snapshot.version, std::move(decision.decision)});
    }
}

}  // namespace rm
