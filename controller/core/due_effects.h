#pragma once

#include <utility>
#include <vector>

#include "controller/core/outcome.h"

// Effects are never stored: the commands to workers follow from the state. A command is due when
// the state wants it, its node's session is up, and it was not sent in this session or its
// acknowledgement is overdue.
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

}  // namespace rm
