#pragma once

#include "base/result.h"
#include "service/daemon/supervisor.h"
#include "worker/daemon/worker_options.h"

namespace rm {

// The daemon: runs until SIGTERM or SIGINT. With OrphanMode::keep its ranks outlive it; with stop
// it stops them first (a second signal kills them). The error says why it could not start or
// continue.
Status run_worker(const WorkerOptions& options, const Supervisor& supervisor);

}  // namespace rm
