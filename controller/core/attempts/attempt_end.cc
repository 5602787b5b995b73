#include <algorithm>

#include "controller/core/handlers.h"
#include "controller/core/jobs/retry.h"

namespace rm {
namespace {

constexpr int kSigKill = 9;
constexpr int kSigTerm = 15;

// Ranks that only lost a peer, or that our own stop killed, do not show the original cause.
bool is_secondary(const RankRecord& rank) {
    // If its shim did not send the signal, the code is kRankFailed or kRankOutOfMemory.
    const bool by_us = rank.exit_code != kRankFailed && rank.exit_code != kRankOutOfMemory;
    return rank.exit_code == kRankLostPeer ||
           (by_us && (rank.exit_signal == kSigKill || rank.exit_signal == kSigTerm));
}

// Its cause quotes a rank that only lost a peer.
bool only_lost_a_peer(const Attempt& attempt) {
    if (attempt.failure_class != FailureClass::rank || attempt.cause_rank < 0) return false;
    const RankRecord& rank = attempt.ranks[usize(attempt.cause_rank)];
    return rank.exit_code == kRankLostPeer;
}

bool replaces_cause(const Attempt& attempt, int rank) {
    return rank >= 0 && only_lost_a_peer(attempt) && !is_secondary(attempt.ranks[usize(rank)]);
}

bool ends_on_request(const Attempt& attempt) {
    return attempt.failure_class == FailureClass::none &&
           (attempt.stop_reason == StopReason::cancel || attempt.stop_reason == StopReason::drain ||
            attempt.stop_reason == StopReason::cost);
}

// A cancelled attempt stays cancelled, but a checkpoint that could not be written is worth noting.
bool is_worth_noting(const Attempt& attempt, int rank) {
    return ends_on_request(attempt) && rank >= 0 && attempt.cause_rank < 0 &&
           !is_secondary(attempt.ranks[usize(rank)]);
}

std::string noted(const Attempt& attempt, const std::string& cause) {
    return format("{}; while stopping, {}", attempt.cause.empty() ? "cancelled" : attempt.cause,
                  cause);
}

bool all_exited_with(const Attempt& attempt, int code) {
    return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [&](const RankRecord& rank) {
        return rank.exit_code == code && rank.exit_signal == 0;
    });
}

AttemptState verdict(const Attempt& attempt, const Job& job) {
    if (attempt.stop_reason == StopReason::failure || attempt.failure_class != FailureClass::none) {
        return AttemptState::failed;
    }
    if (all_exited_with(attempt, kRankFinished)) return AttemptState::succeeded;
    if (ends_on_request(attempt)) return AttemptState::cancelled;
    // The ranks of a recovered job were stopped through the controller before the restore: another
    // attempt would undo a cancel.
    const bool cancelled_before = job.recovered && all_exited_with(attempt, kRankStopped);
    return cancelled_before ? AttemptState::cancelled : AttemptState::failed;
}

std::string closing_cause(const Attempt& attempt, AttemptState end) {
    if (!attempt.cause.empty()) return attempt.cause;
    switch (end) {
        case AttemptState::succeeded:
            return "finished";
        case AttemptState::cancelled:
            return attempt.stop_reason == StopReason::none ? "stopped before the restore"
                                                           : "cancelled";
        case AttemptState::starting:
        case AttemptState::running:
        case AttemptState::stopping:
        case AttemptState::failed:
        case AttemptState::lost:
            break;
    }
    return was_stopped_by_its_workers(attempt)
               ? "its workers were stopped and stopped its ranks, with a checkpoint"
               : "the ranks were stopped, but not by the controller";
}

void end_attempt(Step& step, Epoch epoch, AttemptState end, std::string_view event) {
    step.change_attempt(epoch, event, [&](Attempt& attempt) {
        attempt.cause = closing_cause(attempt, end);
        const bool failed = end == AttemptState::failed || end == AttemptState::lost;
        if (failed && attempt.failure_class == FailureClass::none) {
            attempt.failure_class =
                end == AttemptState::lost ? FailureClass::lost : FailureClass::rank;
        }
        attempt.state = end;
        attempt.ended = step.now();
    });
    step.planning_changed();
    conclude_job(step, epoch);
}

}  // namespace

void stop_attempt(Step& step, Epoch epoch, StopReason reason, StopMode mode) {
    step.change_attempt(epoch, "attempt.stopping", [&](Attempt& attempt) {
        attempt.state = AttemptState::stopping;
        // A cancel overrides any other reason.
        const bool decides =
            attempt.stop_reason == StopReason::none || reason == StopReason::cancel;
        if (decides) attempt.stop_reason = reason;
        if (mode == StopMode::now) attempt.stop_mode = mode;
    });
    step.change_job(find_attempt(step.state(), epoch)->job, "job.stopping",
                    [](Job& job) { job.state = JobState::stopping; });
}

void fail_attempt(Step& step, Epoch epoch, const Failure& failure) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    const bool first = attempt->stop_reason == StopReason::none;
    const bool notes = is_worth_noting(*attempt, failure.rank);
    if (!first && !notes && !replaces_cause(*attempt, failure.rank)) return;
    step.change_attempt(epoch, "attempt.rank_failed", [&](Attempt& changed) {
        changed.cause = notes ? noted(changed, failure.cause) : failure.cause;
        changed.cause_rank = failure.rank;
        if (!notes) changed.failure_class = failure.kind;
    });
    // The other ranks wait for a dead peer and cannot stop gracefully.
    if (first) stop_attempt(step, epoch, StopReason::failure, StopMode::now);
}

void lose_attempt(Step& step, Epoch epoch, const std::string& cause) {
    step.change_attempt(epoch, "attempt.lost", [&](Attempt& attempt) {
        if (attempt.cause.empty() || only_lost_a_peer(attempt)) {
            attempt.cause = cause;
            attempt.cause_rank = -1;
            attempt.failure_class = FailureClass::lost;
        }
        // Their nodes are unknown; a worker that finds them again reports them.
        for (RankRecord& rank : attempt.ranks) {
            if (rank.device.node.empty()) rank.state = RankState::cleared;
        }
    });
    end_attempt(step, epoch, AttemptState::lost, "attempt.ended");
}

void end_if_cleared(Step& step, Epoch epoch) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    if (is_terminal(attempt->state) || !attempt->cleared()) return;
    const Job* job = find_job(step.state(), attempt->job);
    end_attempt(step, epoch, verdict(*attempt, *job), "attempt.ended");
}

}  // namespace rm
