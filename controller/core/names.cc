#include "controller/core/names.h"

#include <array>

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

std::string_view name_of(std::string_view name) {
    return name;
}
std::string_view name_of(const FailureRow& row) {
    return row.name;
}

template <typename Rows, typename E>
Status parse(std::string_view text, const Rows& rows, E& value) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (name_of(rows[i]) != text) continue;
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
    return parse(text, kFailures, failure);
}

}  // namespace rm
