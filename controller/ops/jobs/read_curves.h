#pragma once

#include "controller/store/telemetry_store.h"
#include "ringmaster/v1/job.pb.h"

namespace rm {

namespace pb = ringmaster::v1;

// The curves of a job that exists. INVALID_ARGUMENT names an unknown quantity and those that there
// are, or a wrong page token.
Result<pb::StepsReply> read_curves(TelemetryReader& telemetry, const JobId& job,
                                   const pb::StepsRequest& request);

}  // namespace rm
