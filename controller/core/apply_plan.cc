#include "controller/core/handlers.h"
#include "controller/core/plan_validator.h"

namespace rm {
namespace {

void block(Step& step, const JobId& id, const std::vector<std::string>& reasons) {
    RM_CHECK(!reasons.empty(), "the planner gave job {} neither a plan nor a reason", id);
    step.change_job(id, "job.blocked", [&](Job& job) { job.blocking_reasons = reasons; });
}

Epoch take_epoch(Step& step) {
    const Epoch epoch = step.state().next_epoch;
    step.change_meta("cluster.epoch_taken", [](State& state) { ++state.next_epoch.value; });
    return epoch;
}

void start(Step& step, const JobId& id, const Plan& plan) {
    Attempt attempt;
    attempt.epoch = take_epoch(step);
    attempt.job = id;
    attempt.mesh = plan.mesh;
    attempt.zero = plan.zero;
    attempt.memory = plan.memory;
    attempt.collective_timeout = plan.collective_timeout;
    for (const DeviceId& device : plan.placement)
        attempt.ranks.push_back({.device = device});
    attempt.started = step.now();
    step.add_attempt(std::move(attempt));
    step.change_job(id, "job.starting", [](Job& job) {
        job.state = JobState::starting;
        job.blocking_reasons.clear();
    });
}

}  // namespace

void handle(Step& step, const PlanReady& input) {
    const Job* job = find_job(step.state(), input.job);
    if (job == nullptr || job->state != JobState::pending) return;
    if (const auto* reasons = std::get_if<std::vector<std::string>>(&input.decision)) {
        return block(step, input.job, *reasons);
    }
    const Plan& plan = std::get<Plan>(input.decision);
    if (const Status valid = validate_plan(step.state(), job->spec, plan); !valid) {
        // The change that overtook a plan has asked for the next pass already.
        const bool overtaken = input.version != step.state().planning_version;
        return block(step, input.job,
                     {format("{}: {}", overtaken ? "the plan was overtaken" : "the plan is wrong",
                             valid.error().message)});
    }
    start(step, input.job, plan);
}

void handle(Step& step, const CommandsDue&) {
    step.look_for_commands();
}

}  // namespace rm
