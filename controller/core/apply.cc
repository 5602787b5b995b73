#include "controller/core/apply.h"

#include "controller/core/handlers.h"

namespace rm {
namespace {

// Whether a job may be in this state with this newest attempt.
bool agree(JobState job, const Attempt& newest) {
    switch (newest.state) {
        case AttemptState::starting:
            return job == JobState::starting;
        case AttemptState::running:
            return job == JobState::running;
        case AttemptState::stopping:
            return job == JobState::stopping;
        case AttemptState::succeeded:
            return job == JobState::succeeded;
        case AttemptState::lost:
            // Also if a worker was found running it after its job had ended.
            return job == JobState::pending || is_terminal(job);
        case AttemptState::failed:
            // Tried again, given up, or cancelled while it failed or waited.
            return job == JobState::pending || job == JobState::failed ||
                   job == JobState::cancelled;
        case AttemptState::cancelled:
            return job == JobState::cancelled ||
                   (job == JobState::pending && newest.stop_reason == StopReason::drain) ||
                   (job == JobState::failed && newest.stop_reason == StopReason::cost);
    }
    return false;
}

void check_job(const State& state, const Job& job) {
    const bool ended = is_terminal(job.state);
    RM_CHECK(state.live_jobs.contains(job.id) != ended,
             "job {} is {}, but the index of live jobs disagrees", job.id, to_string(job.state));
    RM_CHECK((job.ended.micros != 0) == ended, "job {} is {} and has {} end", job.id,
             to_string(job.state), ended ? "no" : "an");
    RM_CHECK((job.state == JobState::pending) == !job.blocking_reasons.empty(),
             "job {} is {} with {} blocking reasons", job.id, to_string(job.state),
             job.blocking_reasons.size());
    RM_CHECK((job.state == JobState::pending) == state.reasoned.contains(job.id),
             "job {} is {}, but the index of reasons disagrees", job.id, to_string(job.state));
    RM_CHECK((job.state == JobState::pending) == state.queued.contains(job.id),
             "job {} is {}, but the index of the queue disagrees", job.id, to_string(job.state));
    if (job.state == JobState::pending) {
        RM_CHECK(state.reasoned.at(job.id) <= state.planning_version,
                 "job {} has a reason from a pass that has not begun", job.id);
    }
    RM_CHECK(job.retry_at.micros == 0 || job.state == JobState::pending,
             "job {} is {} and has a retry at {}", job.id, to_string(job.state),
             to_iso8601(job.retry_at));
    RM_CHECK((job.state == JobState::failed) == !job.failure.empty(),
             "job {} is {} and its failure is '{}'", job.id, to_string(job.state), job.failure);
    const Attempt* attempt = newest_attempt(state, job.id);
    if (attempt == nullptr) {
        RM_CHECK(job.state == JobState::pending || job.state == JobState::cancelled,
                 "job {} is {} without an attempt", job.id, to_string(job.state));
        return;
    }
    RM_CHECK(agree(job.state, *attempt), "job {} is {}, its attempt {} is {}", job.id,
             to_string(job.state), attempt->epoch, to_string(attempt->state));
}

void check_attempt(const State& state, const Attempt& attempt) {
    const Epoch epoch = attempt.epoch;
    const bool ended = is_terminal(attempt.state);
    RM_CHECK(epoch < state.next_epoch, "attempt {} is not below the next epoch {}", epoch,
             state.next_epoch);
    RM_CHECK(find_job(state, attempt.job) != nullptr, "attempt {} belongs to the unknown job {}",
             epoch, attempt.job);
    RM_CHECK(static_cast<int>(attempt.ranks.size()) == attempt.mesh.num_ranks(),
             "attempt {} has {} ranks on a mesh of {}", epoch, attempt.ranks.size(),
             attempt.mesh.num_ranks());
    RM_CHECK((attempt.ended.micros != 0) == ended, "attempt {} is {}, its end is {}", epoch,
             to_string(attempt.state), attempt.ended.micros);
    const bool cleared = attempt.cleared();
    const bool consistent = cleared ? ended : !ended || attempt.state == AttemptState::lost;
    RM_CHECK(consistent, "attempt {} is {} though {} of it is left", epoch,
             to_string(attempt.state), cleared ? "nothing" : "something");
    RM_CHECK(state.heard.contains(epoch) != ended &&
                 state.leftover.contains(epoch) == (ended && !cleared),
             "attempt {} is {}, but the indexes disagree", epoch, to_string(attempt.state));
    // Only the newest attempt of a job may live.
    RM_CHECK(ended || newest_attempt(state, attempt.job) == &attempt,
             "attempt {} of job {} lives beside a newer one", epoch, attempt.job);
}

// At most one attempt of a job was allowed to publish and may have processes.
void check_publishers(const State& state, const JobId& job) {
    const Attempt* publisher = nullptr;
    for (const Epoch epoch : epochs_of(state, job)) {
        const Attempt& attempt = state.attempts.at(epoch);
        if (!attempt.may_publish || attempt.cleared()) continue;
        RM_CHECK(publisher == nullptr, "attempts {} and {} of job {} may both publish",
                 publisher->epoch, epoch, job);
        publisher = &attempt;
    }
}

void check_devices(const State& state) {
    std::map<DeviceId, Epoch> users;
    for (const Attempt* attempt : live_attempts(state)) {
        for (const DeviceId& device : attempt->held()) {
            const auto [other, fresh] = users.emplace(device, attempt->epoch);
            RM_CHECK(fresh, "device {} is in attempts {} and {}", device, other->second,
                     attempt->epoch);
        }
    }
}

}  // namespace

void check_invariants(const State& state) {
    for (const auto& [id, job] : state.jobs) {
        check_job(state, job);
        check_publishers(state, id);
    }
    for (const auto& [epoch, attempt] : state.attempts)
        check_attempt(state, attempt);
    check_devices(state);
}

void check_live_invariants(const State& state, const Changes& changes) {
    for (const JobId& id : changes.jobs)
        check_job(state, state.jobs.at(id));
    for (const Epoch epoch : changes.attempts) {
        const Attempt& attempt = state.attempts.at(epoch);
        check_attempt(state, attempt);
        check_publishers(state, attempt.job);
    }
    if (!changes.attempts.empty()) check_devices(state);
}

Outcome apply(State& state, const Input& input) {
    Step step(state, input);
    std::visit([&](const auto& body) { handle(step, body); }, input.body);
    Outcome outcome = step.finish();
    check_live_invariants(state, outcome.changes);
    return outcome;
}

}  // namespace rm
