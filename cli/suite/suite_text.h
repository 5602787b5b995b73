#pragma once

#include "cli/screen/console.h"
#include "spec/report.h"

namespace rm {

// The share of right answers by length and depth or task, colored from red to green, with means
// below, each line behind `indent`; columns beyond the trained context are marked. Below RULER's,
// its effective length.
void print_suite(const Output& out, const SuiteReport& report, std::string_view indent);

}  // namespace rm
