#pragma once

#include <string>

#include "base/clock.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/up/cluster.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert.h"

namespace rm {

// Submits one job to a local cluster and follows it until it ends. The first interrupt cancels it
// with a checkpoint, the second at once; both return 130. FAILED_PRECONDITION with every reason
// when the job can never start here: no worker joins a private cluster later.
Result<ExitCode> run_job(const pb::JobSpec& spec, LocalCluster& cluster, Signals& signals,
                         Console& console);

// Cancels every live job with a checkpoint and waits until none is left, at most `limit` or until
// an interrupt, so that history says "cancelled", not that the ranks went away.
Status cancel_live_jobs(LocalCluster& cluster, Signals& signals, Console& console, Seconds limit);

// job a1b2c3 demo succeeded: 100 steps, 819,200 tokens in 3m12s, losses and the checkpoint. Pure.
std::string job_summary(const pb::Job& job);

}  // namespace rm
