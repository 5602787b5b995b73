#pragma once

#include <string>

#include "cli/suite/suite_grid.h"

namespace rm {

// The grid of print_grid as a picture.
std::string grid_svg(const SuiteGrid& grid, const std::string& title, std::int64_t trained_context);

}  // namespace rm
