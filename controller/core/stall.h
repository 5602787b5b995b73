#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/session.h"

// Whether an attempt has stopped making progress, and which rank caused it.
namespace rm {

struct WatchedRank {
    NodeId node;
    RankStatus status;
};

constexpr Seconds kStallFloor{15};
constexpr Seconds kFirstStepFloor{60};  // until every rank has a step behind it

// `ranks` are all of a running attempt, as workers with a session report them. It has stalled when
// every rank that has not ended is quiet for longer than max(kStallFloor, 3 x the longest quiet
// that is usual). The cause names the rank at fault, the first that exists of: a rank stopped by a
// signal, the rank outside the collective in which others wait, the rank that others wait for, the
// quietest rank. Nothing: it has not stalled.
std::optional<std::string> stall_cause(const std::vector<WatchedRank>& ranks);

}  // namespace rm
