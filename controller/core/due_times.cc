#include "controller/core/due_times.h"

#include <optional>

#include "controller/core/questions.h"
#include "controller/core/restore.h"
#include "controller/core/stall.h"

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

const RankStatus* reported(const Node& node, Epoch epoch, int rank) {
    const auto status = node.session.reported.find(epoch);
    if (!node.session.up || status == node.session.reported.end()) return nullptr;
    for (const RankStatus& candidate : status->second.ranks) {
        if (candidate.rank == rank) return &candidate;
    }
    return nullptr;
}

// Nothing while some rank is out of sight: what it does is unknown.
std::optional<std::vector<WatchedRank>> watch(const State& state, const Attempt& attempt) {
    std::vector<WatchedRank> ranks;
    for (std::size_t i = 0; i < attempt.ranks.size(); ++i) {
        const NodeId& id = attempt.ranks[i].device.node;
        const Node* node = find_node(state, id);
        if (node == nullptr) return std::nullopt;
        const RankStatus* status = reported(*node, attempt.epoch, static_cast<int>(i));
        if (status == nullptr) return std::nullopt;
        ranks.push_back({id, *status});
    }
    return ranks;
}

std::vector<Stall> stalled_attempts(const State& state) {
    std::vector<Stall> stalls;
    for (const Attempt* attempt : live_attempts(state)) {
        if (attempt->state != AttemptState::running) continue;
        const auto ranks = watch(state, *attempt);
        if (!ranks) continue;
        if (const auto cause = stall_cause(*ranks)) stalls.push_back({attempt->epoch, *cause});
    }
    return stalls;
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
    return {.retries = due_retries(state, now),
            .stalls = stalled_attempts(state),
            .lost = silent_attempts(state, now),
            .hold_changed = state.planning_held == hold_reason(state, now).empty(),
            .questions = questions_due(state, now)};
}

}  // namespace rm
