#include "controller/core/names.h"

#include <array>
#include <span>

namespace rm {
namespace {

constexpr std::array<std::string_view, 7> kJobStates = {
    "pending", "starting", "running", "stopping", "succeeded", "failed", "cancelled"};
constexpr std::array<std::string_view, 7> kAttemptStates = {
    "starting", "running", "stopping", "succeeded", "failed", "lost", "cancelled"};
constexpr std::array<std::string_view, 3> kNodeStates = {"ready", "unreachable", "gone"};
constexpr std::array<std::string_view, 5> kRankStates = {"placed", "launched", "training", "exited",
                                                         "cleared"};
constexpr std::array<std::string_view, 4> kStopReasons = {"none", "cancel", "failure", "drain"};
constexpr std::array<std::string_view, 8> kFailureClasses = {
    "none", "bad_input", "out_of_memory", "device_fault", "rank", "launch", "stall", "lost"};

template <typename E>
Status parse(std::string_view text, std::span<const std::string_view> names, E& value) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] != text) continue;
        value = static_cast<E>(i);
        return {};
    }
    return invalid_argument("'{}' is not a known state", text);
}

}  // namespace

std::string_view to_string(JobState state) {
    return kJobStates[static_cast<std::size_t>(state)];
}
std::string_view to_string(AttemptState state) {
    return kAttemptStates[static_cast<std::size_t>(state)];
}
std::string_view to_string(NodeState state) {
    return kNodeStates[static_cast<std::size_t>(state)];
}
std::string_view to_string(RankState state) {
    return kRankStates[static_cast<std::size_t>(state)];
}
std::string_view to_string(StopReason reason) {
    return kStopReasons[static_cast<std::size_t>(reason)];
}
std::string_view to_string(FailureClass failure) {
    return kFailureClasses[static_cast<std::size_t>(failure)];
}

Status parse_name(std::string_view text, JobState& state) {
    return parse(text, kJobStates, state);
}
Status parse_name(std::string_view text, AttemptState& state) {
    return parse(text, kAttemptStates, state);
}
Status parse_name(std::string_view text, NodeState& state) {
    return parse(text, kNodeStates, state);
}
Status parse_name(std::string_view text, RankState& state) {
    return parse(text, kRankStates, state);
}
Status parse_name(std::string_view text, StopReason& reason) {
    return parse(text, kStopReasons, reason);
}
Status parse_name(std::string_view text, FailureClass& failure) {
    return parse(text, kFailureClasses, failure);
}

}  // namespace rm
