#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/result.h"
#include "spec/failure.h"
#include "spec/reason.h"
#include "spec/session.h"

// The states of ARCHITECTURE.md's vocabulary, and the few enums beside them, with their names.
namespace rm {

enum class JobState { pending, starting, running, stopping, succeeded, failed, cancelled };
enum class AttemptState { starting, running, stopping, succeeded, failed, lost, cancelled };
enum class NodeState { ready, unreachable, gone };
// placed: its worker has not confirmed the launch. cleared: no process of the attempt is left
// there.
enum class RankState { placed, launched, training, exited, cleared };
// drain: its node must become empty; the job continues elsewhere. cost: the job has cost as much as
// it may.
enum class StopReason { none, cancel, failure, drain, cost };
enum class CommandKind { launch, stop_graceful, stop_now, forget };

// The names, in the order of the enumerators.
template <typename E>
inline constexpr std::array<std::string_view, 0> kNames{};
template <>
inline constexpr std::array<std::string_view, 7> kNames<JobState>{
    "pending", "starting", "running", "stopping", "succeeded", "failed", "cancelled"};
template <>
inline constexpr std::array<std::string_view, 7> kNames<AttemptState>{
    "starting", "running", "stopping", "succeeded", "failed", "lost", "cancelled"};
template <>
inline constexpr std::array<std::string_view, 3> kNames<NodeState>{"ready", "unreachable", "gone"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<RankState>{"placed", "launched", "training",
                                                                   "exited", "cleared"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<StopReason>{"none", "cancel", "failure",
                                                                    "drain", "cost"};
template <>
inline constexpr std::array<std::string_view, 2> kNames<StopMode>{"graceful", "now"};
template <>
inline constexpr auto kNames<FailureClass> = [] {
    std::array<std::string_view, kFailures.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i)
        names[i] = kFailures[i].name;
    return names;
}();

template <>
inline constexpr std::array<std::string_view, 5> kNames<ReasonKind>{"other", "files", "behind",
                                                                    "memory", "cost"};

template <typename E>
concept HasNames = !kNames<E>.empty();
template <HasNames E>
constexpr std::string_view to_string(E value) {
    return kNames<E>.at(usize(value));
}
// The error names the value.
template <HasNames E>
Status parse_name(std::string_view text, E& value) {
    const auto found = std::find(kNames<E>.begin(), kNames<E>.end(), text);
    if (found == kNames<E>.end()) return invalid_argument("'{}' is not a known state", text);
    value = static_cast<E>(found - kNames<E>.begin());
    return {};
}

constexpr bool is_terminal(JobState state) {
    return state >= JobState::succeeded;
}
constexpr bool is_terminal(AttemptState state) {
    return state >= AttemptState::succeeded;
}

}  // namespace rm
