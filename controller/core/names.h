#pragma once

#include <string_view>

#include "base/failure.h"
#include "base/result.h"

// The states of ARCHITECTURE.md's vocabulary, and the few enums beside them, with their names.
namespace rm {

enum class JobState { pending, starting, running, stopping, succeeded, failed, cancelled };
enum class AttemptState { starting, running, stopping, succeeded, failed, lost, cancelled };
enum class NodeState { ready, unreachable, gone };
// placed: its worker has not confirmed the launch. cleared: no process of the attempt is left
// there.
enum class RankState { placed, launched, training, exited, cleared };
// drain: its node is to be emptied; the job goes on elsewhere.
enum class StopReason { none, cancel, failure, drain };
enum class CommandKind { launch, stop_graceful, stop_now, forget };

std::string_view to_string(JobState state);
std::string_view to_string(AttemptState state);
std::string_view to_string(NodeState state);
std::string_view to_string(RankState state);
std::string_view to_string(StopReason reason);

// The error names the value.
Status parse_name(std::string_view text, JobState& state);
Status parse_name(std::string_view text, AttemptState& state);
Status parse_name(std::string_view text, NodeState& state);
Status parse_name(std::string_view text, RankState& state);
Status parse_name(std::string_view text, StopReason& reason);
Status parse_name(std::string_view text, FailureClass& failure);

constexpr bool is_terminal(JobState state) {
    return state >= JobState::succeeded;
}
constexpr bool is_terminal(AttemptState state) {
    return state >= AttemptState::succeeded;
}

}  // namespace rm
