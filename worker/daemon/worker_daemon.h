#pragma once

#include "base/result.h"
#include "worker/daemon/worker_options.h"

namespace rm {

// The daemon: runs until SIGTERM or SIGINT. With OrphanMode::keep its ranks outlive it; with stop
// they are stopped first (a second signal kills them). The error is why it could not start or go
// on.
Status run_worker(const WorkerOptions& options);

}  // namespace rm
