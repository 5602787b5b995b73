#pragma once

#include "base/clock.h"
#include "cli/console.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert.h"

namespace rm {

// Prints everything about one job, for `show`. Pure but for the stream.
void describe_job(const Output& out, const pb::Job& job, WallTime now);

}  // namespace rm
