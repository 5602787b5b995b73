#pragma once

#include "topology/placement_report.h"

namespace rm {

// The same with long node ids cut to unique prefixes of eight letters or more, which every verb
// accepts for the whole id. Short ids stay as they are.
PlacementReport with_short_nodes(PlacementReport report);

}  // namespace rm
