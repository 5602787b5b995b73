#pragma once

#include "base/report.h"
#include "engine/comm/communicator.h"

namespace rm {

// Of a rank whose transport has connected.
ConnectedReport connected_report(const Transport& transport, const Communicator& communicator);

}  // namespace rm
