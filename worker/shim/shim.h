#pragma once

#include <string>

#include "base/result.h"

namespace rm {

// The shim process: starts the ranks that attempt.json of `dir` names, owns their exits, and stops
// them when told to over shim.sock or by SIGTERM, or when it is orphaned. Returns when no rank is
// left. Single threaded and light: it must run even where other programs fail. Blocks SIGCHLD,
// SIGTERM and SIGINT.
Status run_shim(const std::string& dir);

}  // namespace rm
