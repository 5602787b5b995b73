#pragma once

#include <string_view>

#include "base/result.h"
#include "planner/search/fleet.h"

namespace rm {

// As many devices of a published kind in the nodes that clouds rent them in, the last of which may
// have fewer: for plans before there are machines. The profile's provenance says where the nodes'
// figures are from. Errors: not_found naming the kinds; invalid_argument for a number below 1.
Result<FleetSpec> published_fleet(std::string_view kind, int number);

}  // namespace rm
