#include <algorithm>

#include "controller/core/handlers.h"

namespace rm {
namespace {

constexpr int kSigKill = 9;
constexpr int kSigTerm = 15;

// Ranks that only lost a peer, or that our own stop has killed, say nothing about why it all began.
bool is_secondary(const RankRecord& rank) {
    return rank.exit_code == kRankLostPeer || rank.exit_signal == kSigKill ||
           rank.exit_signal == kSigTerm;
}

bool replaces_cause(const Attempt& attempt, int rank) {
    if (attempt.stop_reason != StopReason::failure || rank < 0 || attempt.cause_rank < 0) {
        return false;
    }
    const auto& ranks = attempt.ranks;
    return ranks[static_cast<std::size_t>(attempt.cause_rank)].exit_code == kRankLostPeer &&
           !is_secondary(ranks[static_cast<std::size_t>(rank)]);
}

// Cancelled is cancelled, but a checkpoint that could not be written is worth a line.
bool fails_while_cancelled(const Attempt& attempt, int rank) {
    if (attempt.stop_reason != StopReason::cancel || rank < 0 || !attempt.cause.empty())
        return false;
    return !is_secondary(attempt.ranks[static_cast<std::size_t>(rank)]);
}

AttemptState verdict(const Attempt& attempt) {
    if (attempt.stop_reason == StopReason::failure) return AttemptState::failed;
    const bool finished =
        std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [](const RankRecord& rank) {
            return rank.exit_code == kRankFinished && rank.exit_signal == 0;
        });
    if (finished) return AttemptState::succeeded;
    return attempt.stop_reason == StopReason::cancel ? AttemptState::cancelled
                                                     : AttemptState::failed;
}

JobState job_verdict(AttemptState attempt) {
    switch (attempt) {
        case AttemptState::succeeded:
            return JobState::succeeded;
        case AttemptState::cancelled:
            return JobState::cancelled;
        case AttemptState::failed:
        case AttemptState::lost:
            return JobState::failed;
        case AttemptState::starting:
        case AttemptState::running:
        case AttemptState::stopping:
            break;
    }
    RM_CHECK(false, "an attempt that is {} gives no verdict", to_string(attempt));
    return JobState::failed;
}

std::string closing_cause(const Attempt& attempt, AttemptState verdict) {
    if (!attempt.cause.empty()) return attempt.cause;
    if (verdict == AttemptState::failed) {
        return "the ranks were stopped, and not by the controller";
    }
    return verdict == AttemptState::cancelled ? "cancelled" : "finished";
}

}  // namespace

void stop_attempt(Step& step, Epoch epoch, StopReason reason, StopMode mode) {
    step.change_attempt(epoch, "attempt.stopping", [&](Attempt& attempt) {
        attempt.state = AttemptState::stopping;
        if (attempt.stop_reason == StopReason::none) attempt.stop_reason = reason;
        if (mode == StopMode::now) attempt.stop_mode = mode;
    });
    step.change_job(find_attempt(step.state(), epoch)->job, "job.stopping",
                    [](Job& job) { job.state = JobState::stopping; });
}

void fail_attempt(Step& step, Epoch epoch, int rank, const std::string& cause) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    const bool first = attempt->stop_reason == StopReason::none;
    const bool replaces = replaces_cause(*attempt, rank);
    const bool notes = fails_while_cancelled(*attempt, rank);
    if (!first && !replaces && !notes) return;
    step.change_attempt(epoch, "attempt.rank_failed", [&](Attempt& changed) {
        changed.cause = notes ? "cancelled; while stopping, " + cause : cause;
        changed.cause_rank = rank;
    });
    // The others wait for a dead peer: nothing graceful can come of them.
    if (first) stop_attempt(step, epoch, StopReason::failure, StopMode::now);
}

void end_if_cleared(Step& step, Epoch epoch) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    const bool cleared =
        std::all_of(attempt->ranks.begin(), attempt->ranks.end(),
                    [](const RankRecord& rank) { return rank.state == RankState::cleared; });
    if (!cleared) return;
    const AttemptState end = verdict(*attempt);
    step.change_attempt(epoch, "attempt.ended", [&](Attempt& changed) {
        changed.cause = closing_cause(changed, end);
        changed.state = end;
        changed.ended = step.now();
    });
    step.change_job(attempt->job, "job.ended", [&](Job& job) {
        job.state = job_verdict(end);
        job.ended = step.now();
        if (job.state == JobState::failed) job.failure = attempt->cause;
    });
}

}  // namespace rm
