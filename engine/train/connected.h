#pragma once

#include <set>

#include "base/report.h"
#include "engine/comm/communicator.h"

namespace rm {

// The report of a rank whose transport has connected.
ConnectedReport connected_report(const Transport& transport, const Communicator& communicator);

// The ranks before this one on the rings that attention shifts around.
std::set<int> ring_sources(const Communicator& communicator);

}  // namespace rm
