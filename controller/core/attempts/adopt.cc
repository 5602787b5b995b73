#include <algorithm>
#include <set>

#include "controller/core/handlers.h"

namespace rm {
namespace {

// Whether a launch that a worker reports can be put into the tables.
bool is_sound(const LaunchAttempt& launch, const AttemptStatus& status) {
    const int size = launch.plan.mesh.num_ranks();
    const bool ranks_fit =
        std::all_of(launch.ranks.begin(), launch.ranks.end(), [&](const RankLaunch& rank) {
            return rank.rank >= 0 && rank.rank < size && rank.device >= 0;
        });
    return ranks_fit && !launch.ranks.empty() && !launch.job.empty() && launch.job == status.job &&
           validate(launch.spec);
}

// The client's request id is lost.
Job job_of(const State& state, const LaunchAttempt& launch, WallTime now) {
    Job job;
    job.id = launch.job;
    job.number = static_cast<std::int64_t>(state.jobs.size()) + 1;
    job.request = {"recovered/" + launch.job.value};
    job.spec = launch.spec;
    job.yaml = launch.yaml;
    if (!launch.owner.empty()) job.owner = launch.owner;
    job.state = JobState::starting;
    job.submitted = now;
    job.recovered = true;
    return job;
}

// Its ranks get their devices from what nodes report, not from the plan.
Attempt attempt_of(const LaunchAttempt& launch, WallTime now) {
    Attempt attempt = planned_attempt(launch.epoch, launch.job, launch.plan, now);
    attempt.ranks.assign(usize(attempt.mesh.num_ranks()), {});
    return attempt;
}

// An ended job continues only if the restore may have brought back an outdated end.
bool may_go_on(const State& state, const LaunchAttempt& launch, const AttemptStatus& status) {
    const Attempt* newest = newest_attempt(state, launch.job);
    if (newest != nullptr && newest->epoch > launch.epoch) return false;
    const Job& job = *find_job(state, launch.job);
    if (!is_terminal(job.state)) return true;
    return job.ended < state.restored && status.processes_left;
}

void go_on(Step& step, const LaunchAttempt& launch) {
    const Attempt* newest = newest_attempt(step.state(), launch.job);
    const bool cancelled = newest != nullptr && !is_terminal(newest->state) &&
                           newest->stop_reason == StopReason::cancel;
    const StopMode mode = cancelled ? newest->stop_mode : StopMode::graceful;
    if (newest != nullptr && !is_terminal(newest->state)) {
        lose_attempt(step, newest->epoch, format("replaced by attempt {}", launch.epoch));
    }
    step.change_job(launch.job, "job.recovered", [&](Job& job) {
        job.state = JobState::starting;
        job.ended = {};
        job.blocking_reasons.clear();
        job.failure.clear();
        job.retry_at = {};
        job.recovered = true;
    });
    step.add_attempt(attempt_of(launch, step.now()));
    if (cancelled) stop_attempt(step, launch.epoch, StopReason::cancel, mode);
}

// Stays in the tables so that its workers are told to stop and forget it.
void add_as_lost(Step& step, const LaunchAttempt& launch) {
    Attempt attempt = attempt_of(launch, step.now());
    attempt.state = AttemptState::lost;
    attempt.ended = step.now();
    attempt.cause = "found on a worker after its job had moved on or ended";
    attempt.failure_class = FailureClass::lost;
    for (RankRecord& rank : attempt.ranks)
        rank.state = RankState::cleared;
    step.add_attempt(std::move(attempt));
}

void adopt(Step& step, const LaunchAttempt& launch, const AttemptStatus& status) {
    if (find_job(step.state(), launch.job) == nullptr) {
        step.add_job(job_of(step.state(), launch, step.now()), "job.recovered");
        step.add_attempt(attempt_of(launch, step.now()));
    } else if (may_go_on(step.state(), launch, status)) {
        go_on(step, launch);
    } else {
        add_as_lost(step, launch);
    }
}

void place_ranks(Step& step, const NodeId& node, const LaunchAttempt& launch) {
    step.change_attempt(launch.epoch, "attempt.ranks_found", [&](Attempt& attempt) {
        for (const RankLaunch& rank : launch.ranks) {
            if (rank.rank >= static_cast<int>(attempt.ranks.size())) continue;
            RankRecord& record = attempt.ranks[usize(rank.rank)];
            if (!record.device.node.empty()) continue;
            record.device = {node, rank.device};
            record.state = RankState::placed;
        }
    });
}

bool share_a_device(const Attempt& a, const Attempt& b) {
    const std::vector<DeviceId> held = a.held();
    const std::set<DeviceId> used(held.begin(), held.end());
    const std::vector<DeviceId> others = b.held();
    return std::any_of(others.begin(), others.end(),
                       [&](const DeviceId& device) { return used.contains(device); });
}

// The higher epoch gets the device: it has replaced the attempt that the tables place there.
void settle_devices(Step& step, Epoch epoch) {
    for (const Attempt* other : live_attempts(step.state())) {
        const Attempt* adopted = find_attempt(step.state(), epoch);
        if (is_terminal(adopted->state)) return;
        if (other->epoch == epoch || !share_a_device(*adopted, *other)) continue;
        const auto [lower, higher] = std::minmax(epoch, other->epoch);
        lose_attempt(step, lower, format("attempt {} has its devices", higher));
    }
}

}  // namespace

void adopt_unknown(Step& step, const Hello& hello) {
    std::map<Epoch, const LaunchAttempt*> launches;
    for (const LaunchAttempt& launch : hello.launches)
        launches[launch.epoch] = &launch;
    for (const auto& [epoch, launch] : launches) {
        const auto& reported = find_node(step.state(), hello.node)->session.reported;
        const auto status = reported.find(epoch);
        if (status == reported.end() || !is_sound(*launch, status->second)) continue;
        if (find_attempt(step.state(), epoch) == nullptr) adopt(step, *launch, status->second);
        if (find_attempt(step.state(), epoch)->job != launch->job) continue;
        place_ranks(step, hello.node, *launch);
        settle_devices(step, epoch);
    }
}

}  // namespace rm
