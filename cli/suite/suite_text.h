#pragma once

#include "cli/screen/console.h"
#include "cli/suite/suite_grid.h"

namespace rm {

// The share of right answers by length and row, colored from red to green, with means below;
// columns beyond the trained context are marked. `corner` names the rows. trained 0: not known.
void print_grid(const Output& out, const SuiteGrid& grid, std::string_view corner,
                std::int64_t trained_context);

}  // namespace rm
