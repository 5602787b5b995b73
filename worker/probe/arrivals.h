#pragma once

#include <vector>

#include "worker/probe/wire.h"

namespace rm {

// Counts what arrives on `sockets` for `span` and hangs up. The first third is not counted: while a
// flow starts up and a shaper lets its bucket through, the rate is not the link's.
ProbeMessage count_arrivals(const std::vector<UniqueFd>& sockets, Seconds span);

}  // namespace rm
