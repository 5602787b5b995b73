#pragma once

#include <vector>

#include "worker/probe/wire.h"

namespace rm {

// Counts the bytes that arrive on `sockets` for `span`, then closes them. Ignores the first third:
// while a flow starts up and a shaper empties its bucket, the rate is not that of the link.
ProbeMessage count_arrivals(const std::vector<UniqueFd>& sockets, Seconds span);

}  // namespace rm
