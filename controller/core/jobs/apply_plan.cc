#include "controller/core/handlers.h"
#include "controller/core/jobs/make_snapshot.h"

namespace rm {
namespace {

// Drops reasons from a pass that began before the job got newer ones.
void block(Step& step, const JobId& id, std::uint64_t version, const Reasons& reasons) {
    if (version < step.state().reasoned.at(id)) return;
    RM_CHECK(!reasons.empty(), "the planner gave job {} neither a plan nor a reason", id);
    step.change_job(id, "job.blocked", [&](Job& job) { job.blocking_reasons = reasons; });
    step.reasons_given(id, version);
}

Epoch take_epoch(Step& step) {
    const Epoch epoch = step.state().next_epoch;
    step.change_meta("cluster.epoch_taken", [](State& state) { ++state.next_epoch.value; });
    return epoch;
}

void start(Step& step, const JobId& id, const Plan& plan) {
    step.add_attempt(planned_attempt(take_epoch(step), id, plan, step.now()));
    step.change_job(id, "job.starting", [](Job& job) {
        job.state = JobState::starting;
        job.blocking_reasons.clear();
        job.retry_at = {};
    });
}

}  // namespace

Attempt planned_attempt(Epoch epoch, const JobId& job, const Plan& plan, WallTime now) {
    Attempt attempt{.epoch = epoch,
                    .job = job,
                    .mesh = plan.mesh,
                    .zero = plan.zero,
                    .memory = plan.memory,
                    .network = plan.network,
                    .collective_timeout = plan.collective_timeout,
                    .predicted = plan.predicted,
                    .rates = plan.rates,
                    .started = now};
    for (const DeviceId& device : plan.placement)
        attempt.ranks.push_back({.device = device});
    return attempt;
}

void handle(Step& step, const PlanReady& input) {
    const Job* job = find_job(step.state(), input.job);
    if (job == nullptr || job->state != JobState::pending) return;
    if (const auto* reasons = std::get_if<Reasons>(&input.decision)) {
        return block(step, input.job, input.version, *reasons);
    }
    const Plan& plan = std::get<Plan>(input.decision);
    if (const Status valid = validate_plan(step.state(), *job, plan, step.steady()); !valid) {
        // The change that overtook a plan has asked for the next pass already.
        const bool overtaken = input.version != step.state().planning_version;
        return block(step, input.job, input.version,
                     {reason_from(format("{}: {}",
                                         overtaken ? "the plan was overtaken" : "the plan is wrong",
                                         valid.error().message))});
    }
    start(step, input.job, plan);
}

}  // namespace rm
