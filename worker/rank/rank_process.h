#pragma once

#include <string>

namespace rm {

// One rank process from start to end: reads its configuration from the attempt's directory, meets
// the other ranks, trains, reports, and leaves its last words there when it fails. Returns the exit
// code, one of kRank... of spec/session.h. Ends by SIGKILL when its shim does. Call it first in
// main(), on the main thread, with SIGTERM blocked.
int run_rank_process(const std::string& dir, int rank);

}  // namespace rm
