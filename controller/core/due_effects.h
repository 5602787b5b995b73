#pragma once

#include <utility>
#include <vector>

#include "controller/core/outcome.h"

// Effects are never stored: what the workers should be told follows from the state. A command is
// due when the state wants it, its node's session is up, and it was not sent in this session or its
// acknowledgement is overdue.
namespace rm {

std::vector<SendToNode> due_commands(const State& state, WallTime steady);

// Some job is pending and no plan was asked for since something a plan depends on changed.
bool planning_due(const State& state);

// Nodes that count as ready though they have had no session for kUnreachableAfter.
std::vector<NodeId> overdue_nodes(const State& state, WallTime steady);

// What a command is remembered by in NodeSession::sent.
std::pair<Epoch, CommandKind> command_key(const NodeCommand& command);

constexpr Seconds kAckOverdue{10};
constexpr Seconds kStopGrace{60};

}  // namespace rm
