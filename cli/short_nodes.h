#pragma once

#include "topology/placement_report.h"

namespace rm {

// The same with long node ids cut to beginnings that no other node of the report has, eight letters
// or more: what every verb takes for the whole id. Short ids stay as they are.
PlacementReport with_short_nodes(PlacementReport report);

}  // namespace rm
