#pragma once

#include <span>
#include <string_view>

#include "options/examples.h"

namespace rm {

// The examples of a command, named by its path: "ringmaster" or "ringmaster data prepare".
std::span<const Example> examples_of(std::string_view path);

}  // namespace rm
