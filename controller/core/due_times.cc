#include <optional>
#include <set>

#include "base/text.h"
#include "controller/core/due.h"
#include "controller/core/jobs/job_cost.h"
#include "controller/core/jobs/retry.h"
#include "controller/core/roots/questions.h"

namespace rm {
namespace {

std::vector<JobId> due_retries(const State& state, WallTime now) {
    std::vector<JobId> due;
    for (const JobId& id : state.live_jobs) {
        const Job& job = state.jobs.at(id);
        if (job.state != JobState::pending || job.retry_at.micros == 0) continue;
        if (!backs_off(job, now)) due.push_back(id);
    }
    return due;
}

struct InSight {
    std::vector<WatchedRank> ranks;
    std::set<NodeId> unreachable;
};

// Nothing while a rank is unseen on a node that may come back: it may be making progress.
std::optional<InSight> watch(const State& state, const Attempt& attempt, WallTime now) {
    InSight seen;
    for (std::size_t i = 0; i < attempt.ranks.size(); ++i) {
        const NodeId& id = attempt.ranks[i].device.node;
        const Node* node = find_node(state, id);
        if (node == nullptr) return std::nullopt;
        const RankStatus* status = find_status(*node, attempt.epoch, static_cast<int>(i));
        if (node->session.up && status != nullptr) {
            seen.ranks.push_back({id, *status});
        } else if (is_unreachable(state, id, now)) {
            seen.unreachable.insert(id);
        } else {
            return std::nullopt;
        }
    }
    return seen;
}

std::string names_of(const std::set<NodeId>& nodes) {
    return format("{} {} had no session for {}", join(nodes), nodes.size() == 1 ? "has" : "have",
                  kUnreachableAfter);
}

std::optional<Stall> stall_of(const State& state, const Attempt& attempt, WallTime now) {
    const std::optional<InSight> seen = watch(state, attempt, now);
    if (!seen || seen->ranks.empty()) return std::nullopt;
    const auto cause = stall_cause(seen->ranks);
    if (!cause) return std::nullopt;
    if (seen->unreachable.empty()) return Stall{attempt.epoch, *cause};
    return Stall{
        attempt.epoch,
        format("node {}, and the ranks elsewhere make no progress", names_of(seen->unreachable)),
        FailureClass::lost};
}

// An unconfirmed launch on an unreachable node: the other ranks would wait for it.
std::optional<Stall> missing_start(const State& state, const Attempt& attempt, WallTime now) {
    for (const RankRecord& rank : attempt.ranks) {
        if (rank.state != RankState::placed || rank.device.node.empty()) continue;
        if (!is_unreachable(state, rank.device.node, now)) continue;
        return Stall{attempt.epoch,
                     format("node {}, and has not confirmed that it starts its ranks",
                            names_of({rank.device.node})),
                     FailureClass::lost};
    }
    return std::nullopt;
}

std::vector<Stall> stalled_attempts(const State& state, WallTime now) {
    std::vector<Stall> stalls;
    for (const Attempt* attempt : live_attempts(state)) {
        std::optional<Stall> stall;
        if (attempt->state == AttemptState::running) stall = stall_of(state, *attempt, now);
        if (attempt->state == AttemptState::starting) stall = missing_start(state, *attempt, now);
        if (stall) stalls.push_back(*std::move(stall));
    }
    return stalls;
}

// The nodes that an attempt waits for; nothing if one of them may still answer.
std::optional<std::set<NodeId>> unreachable_rest(const State& state, const Attempt& attempt,
                                                 WallTime now) {
    std::set<NodeId> nodes;
    for (const RankRecord& rank : attempt.ranks) {
        if (rank.state == RankState::cleared) continue;
        if (!is_unreachable(state, rank.device.node, now)) return std::nullopt;
        nodes.insert(rank.device.node);
    }
    return nodes;
}

std::vector<Vanished> vanished_attempts(const State& state, WallTime now) {
    std::vector<Vanished> vanished;
    for (const Attempt* attempt : live_attempts(state)) {
        if (attempt->state != AttemptState::stopping) continue;
        const auto nodes = unreachable_rest(state, *attempt, now);
        if (nodes) vanished.push_back({attempt->epoch, "node " + names_of(*nodes)});
    }
    return vanished;
}

// Attempts began at wall times, from which steady ones differ only once the clock is set.
std::vector<Costly> costly_attempts(const State& state, WallTime now) {
    std::vector<Costly> costly;
    for (const Attempt* attempt : live_attempts(state)) {
        if (attempt->state == AttemptState::stopping) continue;
        const Job& job = state.jobs.at(attempt->job);
        const double most = job.spec.resources.max_cost_usd;
        const double spent = most > 0 ? spent_usd(state, job, now) : 0;
        if (spent < most || most <= 0) continue;
        costly.push_back({attempt->epoch,
                          format("it has cost {:.2} USD, and max_cost_usd is {:.2}", spent, most)});
    }
    return costly;
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
            .stalls = stalled_attempts(state, now),
            .vanished = vanished_attempts(state, now),
            .costly = costly_attempts(state, now),
            .lost = silent_attempts(state, now),
            .hold_changed = state.planning_held == hold_reason(state, now).empty(),
            .questions = questions_due(state, now)};
}

}  // namespace rm
