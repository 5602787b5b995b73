#pragma once

#include "controller/ops/context.h"
#include "spec/job_spec.h"

namespace rm {

// INVALID_ARGUMENT: on this cluster, if nothing else ran, no plan of the job would fit; with what
// is short, and changes that would fit. Ok where that is not known.
Status check_some_plan_fits(OpsContext& context, const JobSpec& spec);

}  // namespace rm
