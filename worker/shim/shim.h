#pragma once

#include <string>

#include "base/result.h"

namespace rm {

// Runs the shim process: starts the ranks that attempt.json of `dir` names, records their exits,
// and stops them on a command over shim.sock, on SIGTERM, or when orphaned. Returns when no rank
// is left. Single threaded and light: it must run even where other programs fail. Blocks SIGCHLD,
// SIGTERM and SIGINT.
Status run_shim(const std::string& dir);

}  // namespace rm
