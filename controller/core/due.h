#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/core/outcome.h"

// Effects are never stored: the commands to workers follow from the state. A command is due when
// the state wants it, its node's session is up, and it was not sent in this session or its
// acknowledgement is overdue. Other conditions become true as time passes.
namespace rm {

std::vector<SendToNode> due_commands(const State& state, WallTime steady);

// Whether some job is pending and no plan was requested since the last change that affects plans.
bool planning_due(const State& state);

// Nodes that count as ready although they have had no session for kUnreachableAfter.
std::vector<NodeId> overdue_nodes(const State& state, WallTime steady);

// The key of a command in NodeSession::sent.
std::pair<Epoch, CommandKind> command_key(const NodeCommand& command);

constexpr Seconds kAckOverdue{10};
constexpr Seconds kStopGrace{60};

struct Stall {
    Epoch epoch;
    std::string cause;
    FailureClass kind = FailureClass::stall;
};
struct Vanished {
    Epoch epoch;
    std::string cause;
};
// Its job has cost as much as it may.
struct Costly {
    Epoch epoch;
    std::string cause;
};

struct DueTimes {
    std::vector<JobId> retries;  // pending jobs whose backoff is over
    // Attempts in which no visible rank makes progress and all others are on unreachable nodes.
    std::vector<Stall> stalls;
    // Stopping attempts with processes left only on unreachable nodes.
    std::vector<Vanished> vanished;
    std::vector<Costly> costly;  // starting and running attempts
    std::vector<Epoch> lost;     // live attempts that no worker reported for lost_after
    bool hold_changed = false;   // planning starts or stops waiting for a restore
    bool questions = false;      // questions about roots and files are due

    bool empty() const {
        return retries.empty() && stalls.empty() && vanished.empty() && costly.empty() &&
               lost.empty() && !hold_changed && !questions;
    }
};

DueTimes due_times(const State& state, WallTime steady);

struct WatchedRank {
    NodeId node;
    RankStatus status;
};

constexpr Seconds kStallFloor{15};
constexpr Seconds kFirstStepFloor{60};  // until every rank has done a step

// `ranks` are all of a running attempt, as workers with a session report them. It has stalled when
// every rank that has not ended is quiet for longer than max(kStallFloor, 3 x the longest usual
// quiet). The cause names the rank at fault, the first that exists of: a rank stopped by a
// signal, the rank outside the collective in which others wait, the rank that others wait for, the
// quietest rank. Nothing: it has not stalled.
std::optional<std::string> stall_cause(const std::vector<WatchedRank>& ranks);

}  // namespace rm
