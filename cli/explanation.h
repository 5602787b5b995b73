#pragma once

#include "cli/console.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert.h"

namespace rm {

// Prints the output of `explain`: the job's state in a line, then each finding under its kind and
// subject with its remedy on a line of its own. Lines are wrapped to the width of a terminal only.
void print_explanation(const Output& out, const pb::ExplainJobReply& reply);

}  // namespace rm
