#pragma once

#include <string>

#include "spec/report.h"

namespace rm {

// The grid of print_suite as a picture.
std::string suite_svg(const SuiteReport& report);

}  // namespace rm
