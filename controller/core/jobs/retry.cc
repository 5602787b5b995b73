#include "controller/core/jobs/retry.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace rm {
namespace {

constexpr Seconds kFirstBackoff{1};
constexpr std::size_t kTooManyLaunchFailures = 2;  // of different jobs, in a row

void end_job(Step& step, const JobId& id, JobState end, const std::string& failure) {
    step.change_job(id, "job.ended", [&](Job& job) {
        job.state = end;
        job.ended = step.since_restore();
        job.failure = failure;
    });
}

void queue_again(Step& step, const JobId& id, WallTime retry_at, Reason reason) {
    step.change_job(id, "job.queued_again", [&](Job& job) {
        job.state = JobState::pending;
        job.retry_at = retry_at;
        job.blocking_reasons = {std::move(reason)};
    });
}

// A drained attempt was stopped for a reason of ours, and a stopped worker is no fault of the job.
bool is_failure(const Attempt& attempt) {
    const bool failed =
        attempt.state == AttemptState::failed || attempt.state == AttemptState::lost;
    return failed && attempt.stop_reason != StopReason::drain &&
           !was_stopped_by_its_workers(attempt);
}

// Since the last attempt that came further than all before it, that one included.
int num_failures(const State& state, const JobId& id) {
    int failures = 0;
    std::int64_t furthest = 0;
    for (const Epoch epoch : state.attempts_of.at(id)) {
        const Attempt& attempt = state.attempts.at(epoch);
        if (attempt.checkpoint_step > furthest) failures = 0;
        furthest = std::max(furthest, attempt.checkpoint_step);
        if (is_failure(attempt)) ++failures;
    }
    return failures;
}

bool is_excluded(const Job& job, const DeviceId& device) {
    return std::find(job.excluded.begin(), job.excluded.end(), device) != job.excluded.end();
}

void exclude(Step& step, const JobId& id, const std::vector<DeviceId>& devices) {
    step.change_job(id, "job.devices_excluded", [&](Job& job) {
        for (const DeviceId& device : devices) {
            if (!is_excluded(job, device)) job.excluded.push_back(device);
        }
    });
}

void exclude_faulty(Step& step, const Attempt& ended) {
    std::vector<DeviceId> faulty;
    for (const RankRecord& rank : ended.ranks) {
        const FailureRow& ended_by = row_of(row_of_exit(rank.exit_code).kind);
        if (ended_by.culprit == Culprit::device) faulty.push_back(rank.device);
    }
    // A rank whose device is lost may have ended by our signal.
    if (ended.cause_rank >= 0 && row_of(ended.failure_class).culprit == Culprit::device)
        faulty.push_back(ended.ranks[usize(ended.cause_rank)].device);
    exclude(step, ended.job, faulty);
}

// The devices in service that the job might be placed on without this node, free or not.
int num_elsewhere(const State& state, const Job& job, const NodeId& node) {
    int count = 0;
    for (const auto& [id, other] : state.nodes) {
        if (id == node || !other.drained.empty() || other.state != NodeState::ready) continue;
        for (const DeviceInfo& device : other.inventory.devices) {
            const bool fits =
                job.spec.resources.kind.empty() || device.kind == job.spec.resources.kind;
            if (fits && !is_excluded(job, {id, device.index})) ++count;
        }
    }
    return count;
}

// False: there would be fewer than `wanted` devices left for it.
bool exclude_node(Step& step, const Attempt& ended, const NodeId& node, int wanted) {
    const State& state = step.state();
    const Job& job = *find_job(state, ended.job);
    const Node* known = find_node(state, node);
    if (known == nullptr || !job.spec.resources.placement.empty()) return false;
    if (num_elsewhere(state, job, node) < wanted) return false;
    std::vector<DeviceId> devices;
    for (const DeviceInfo& device : known->inventory.devices)
        devices.push_back({node, device.index});
    exclude(step, ended.job, devices);
    return true;
}

// The only node whose ranks failed in a way that may not recur elsewhere; nothing: several, or
// none.
std::optional<NodeId> only_node_against(const Attempt& attempt) {
    std::set<NodeId> nodes;
    for (const RankRecord& rank : attempt.ranks) {
        const bool elsewhere = row_of_exit(rank.exit_code).retried == Retried::elsewhere;
        if (elsewhere && rank.exit_signal == 0) nodes.insert(rank.device.node);
    }
    if (nodes.size() != 1) return std::nullopt;
    return *nodes.begin();
}

// A file that is missing on one node may be there on others; a run that diverges there does so
// everywhere. The first time only: the second node that says so is believed.
bool may_be_good_elsewhere(Step& step, const Attempt& ended) {
    const auto& epochs = step.state().attempts_of.at(ended.job);
    const auto before = std::count_if(epochs.begin(), epochs.end(), [&](Epoch epoch) {
        return step.state().attempts.at(epoch).failure_class == FailureClass::bad_input;
    });
    if (ended.failure_class != FailureClass::bad_input || before > 1) return false;
    const std::optional<NodeId> node = only_node_against(ended);
    return node && exclude_node(step, ended, *node, ended.mesh.num_ranks());
}

// A rank's words are one reason, however many lines they have.
std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

void retry_or_fail(Step& step, const Attempt& ended) {
    const Job* job = find_job(step.state(), ended.job);
    const int retry = num_failures(step.state(), ended.job);
    const int max = job->spec.retry.max;
    const bool retried = row_of(ended.failure_class).retried == Retried::yes;
    const bool again = retry <= max && (retried || may_be_good_elsewhere(step, ended));
    if (!again) {
        const auto made = step.state().attempts_of.at(ended.job).size();
        return end_job(step, ended.job, JobState::failed,
                       made == 1 ? ended.cause : format("{} (attempt {})", ended.cause, made));
    }
    const Seconds backoff = retry_backoff(retry);
    queue_again(
        step, ended.job, step.steady() + backoff,
        {format("attempt {} {} ({}): {}", ended.epoch, to_string(ended.state),
                to_string(ended.failure_class), one_line(ended.cause)),
         format("retry {} of {} comes at {}", retry, max, to_iso8601(step.now() + backoff))});
}

}  // namespace

bool was_stopped_by_its_workers(const Attempt& attempt) {
    // A machine that shuts down stops all ranks of the attempt and reports its own once it is back.
    // Until then the attempt stands still, and our own stop of it, which kills, is no rank's end.
    const bool some_away =
        attempt.failure_class == FailureClass::stall || attempt.failure_class == FailureClass::lost;
    if (attempt.stop_reason != StopReason::none && !some_away) return false;
    int stopped = 0;
    for (const RankRecord& rank : attempt.ranks) {
        if (some_away && rank.exit_code == kNoExit && rank.exit_signal == 0) continue;
        if (rank.exit_code != kRankStopped || rank.exit_signal != 0) return false;
        ++stopped;
    }
    return stopped > 0;
}

bool backs_off(const Job& job, WallTime steady) {
    return steady < job.retry_at && job.retry_at - steady <= kLongestBackoff;
}

Seconds retry_backoff(int retry) {
    return {std::min(kLongestBackoff.value, kFirstBackoff.value * std::exp2(retry - 1))};
}

void note_launch_failure(Step& step, const NodeId& node, const Attempt& attempt,
                         const std::string& why) {
    step.launch_failed(node, attempt.job, why);
    // A job of any size continues without the node, on fewer devices.
    const Job& job = *find_job(step.state(), attempt.job);
    exclude_node(step, attempt, node, job.spec.num_ranks().value_or(1));
    const auto& failed = step.state().failed_launches.at(node);
    if (failed.size() < kTooManyLaunchFailures) return;
    if (!find_node(step.state(), node)->drained.empty()) return;
    std::string reason = format("{} launches of different jobs failed in a row", failed.size());
    for (const auto& [job, words] : failed)
        reason += format("; job {}: {}", job, one_line(words));
    step.change_node(node, "node.drained", [&](Node& changed) { changed.drained = reason; });
    step.launch_succeeded(node);  // resuming the node restarts the count
    step.planning_changed();
}

void conclude_job(Step& step, Epoch epoch) {
    const Attempt& ended = *find_attempt(step.state(), epoch);
    exclude_faulty(step, ended);
    if (ended.state == AttemptState::succeeded) {
        return end_job(step, ended.job, JobState::succeeded, "");
    }
    if (ended.stop_reason == StopReason::cancel) {
        return end_job(step, ended.job, JobState::cancelled, "");
    }
    if (ended.stop_reason == StopReason::drain) {
        return queue_again(step, ended.job, {},
                           {format("attempt {} was stopped: {}", epoch, one_line(ended.cause)),
                            "waits for a scheduling pass"});
    }
    // Another attempt would cost more yet.
    if (ended.stop_reason == StopReason::cost) {
        return end_job(step, ended.job, JobState::failed,
                       format("attempt {} was stopped: {}", epoch, ended.cause));
    }
    if (ended.state == AttemptState::cancelled) {
        return end_job(step, ended.job, JobState::cancelled, "");
    }
    if (was_stopped_by_its_workers(ended)) {
        return queue_again(step, ended.job, step.steady() + kFirstBackoff,
                           {format("attempt {}: {}", epoch, ended.cause),
                            "that is no failure, and waits for a scheduling pass"});
    }
    retry_or_fail(step, ended);
}

}  // namespace rm
