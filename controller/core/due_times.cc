#include "controller/core/due_times.h"

namespace rm {
namespace {

std::vector<JobId> due_retries(const State& state, WallTime now) {
    std::vector<JobId> due;
    for (const JobId& id : state.live_jobs) {
        const Job& job = state.jobs.at(id);
        const bool waits = job.state == JobState::pending && job.retry_at.micros != 0;
        if (waits && job.retry_at <= now) due.push_back(id);
    }
    return due;
}

std::vector<Epoch> silent_attempts(const State& state, WallTime now) {
    std::vector<Epoch> silent;
    for (const auto& [epoch, heard] : state.heard) {
        const Job& job = state.jobs.at(state.attempts.at(epoch).job);
        if (now - heard > job.spec.retry.lost_after) silent.push_back(epoch);
    }
    return silent;
}

}  // namespace

DueTimes due_times(const State& state, WallTime now) {
    return {.retries = due_retries(state, now), .lost = silent_attempts(state, now)};
}

}  // namespace rm
