#pragma once

#include "base/clock.h"
#include "cli/screen/console.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

namespace rm {

// Prints everything about one job, for `show`. Pure but for the stream.
void describe_job(const Output& out, const pb::Job& job, WallTime now);

// Prints the output of `explain`: the job's state in a line, then each finding under its kind and
// subject with its remedy on a line of its own. Lines are wrapped to the width of a terminal only.
void print_explanation(const Output& out, const pb::ExplainJobReply& reply);

}  // namespace rm
