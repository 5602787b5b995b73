#include "controller/core/retry.h"

#include <algorithm>
#include <cmath>

namespace rm {
namespace {

constexpr Seconds kFirstBackoff{1};
constexpr Seconds kLongestBackoff{60};

void end_job(Step& step, const JobId& id, JobState end, const std::string& failure) {
    step.change_job(id, "job.ended", [&](Job& job) {
        job.state = end;
        job.ended = step.now();
        job.failure = failure;
    });
}

void queue_again(Step& step, const JobId& id, WallTime retry_at, const std::string& reason) {
    step.change_job(id, "job.queued_again", [&](Job& job) {
        job.state = JobState::pending;
        job.retry_at = retry_at;
        job.blocking_reasons = {reason};
    });
}

// Attempts that ended by themselves; a drained one was stopped for a reason of ours.
int num_failures(const State& state, const JobId& id) {
    const auto& epochs = state.attempts_of.at(id);
    return static_cast<int>(std::count_if(epochs.begin(), epochs.end(), [&](Epoch epoch) {
        const Attempt& attempt = state.attempts.at(epoch);
        const bool failed =
            attempt.state == AttemptState::failed || attempt.state == AttemptState::lost;
        return failed && attempt.stop_reason != StopReason::drain;
    }));
}

void exclude_faulty(Step& step, const Attempt& ended) {
    step.change_job(ended.job, "job.devices_excluded", [&](Job& job) {
        for (const RankRecord& rank : ended.ranks) {
            if (rank.exit_code != kRankDeviceFault) continue;
            const bool known = std::find(job.excluded.begin(), job.excluded.end(), rank.device) !=
                               job.excluded.end();
            if (!known) job.excluded.push_back(rank.device);
        }
    });
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
    if (!is_retryable(ended.failure_class) || retry > max) {
        const auto made = step.state().attempts_of.at(ended.job).size();
        return end_job(step, ended.job, JobState::failed,
                       made == 1 ? ended.cause : format("{} (attempt {})", ended.cause, made));
    }
    const WallTime at = step.now() + retry_backoff(retry);
    queue_again(step, ended.job, at,
                format("attempt {} {} ({}): {}; retry {} of {} comes at {}", ended.epoch,
                       to_string(ended.state), to_string(ended.failure_class),
                       one_line(ended.cause), retry, max, to_iso8601(at)));
}

}  // namespace

bool is_retryable(FailureClass failure) {
    switch (failure) {
        case FailureClass::none:
        case FailureClass::bad_input:
        case FailureClass::out_of_memory:
            return false;
        case FailureClass::device_fault:
        case FailureClass::rank:
        case FailureClass::launch:
        case FailureClass::stall:
        case FailureClass::lost:
            return true;
    }
    return false;
}

Seconds retry_backoff(int retry) {
    return {std::min(kLongestBackoff.value, kFirstBackoff.value * std::exp2(retry - 1))};
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
                           format("attempt {} was stopped: {}; waits for a scheduling pass", epoch,
                                  one_line(ended.cause)));
    }
    if (ended.state == AttemptState::cancelled) {
        return end_job(step, ended.job, JobState::cancelled, "");
    }
    retry_or_fail(step, ended);
}

}  // namespace rm
