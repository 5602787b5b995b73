#pragma once

#include <string>
#include <string_view>

#include "planner/search/fleet.h"
#include "spec/cost/cost.h"

namespace rm {

// A fleet with what it costs.
struct PricedFleet {
    FleetSpec fleet;
    Rates rates;
};

// A file that describes machines for `plan` (docs/formats/fleet.md). Paths in it are relative to
// its own directory. Errors name file, place, key and what would be right.
Result<PricedFleet> read_fleet_file(const std::string& path);

// KIND*N, such as L40S*32: published machines (planner/search/published_fleet.h), without prices.
Result<PricedFleet> parse_fleet_argument(std::string_view text);

}  // namespace rm
