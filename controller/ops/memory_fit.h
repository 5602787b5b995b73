#pragma once

#include "base/result.h"
#include "controller/core/state.h"

namespace rm {

// check_state_fits() of a preset. A cluster without nodes refuses nothing. The size of a model.from
// the submitting side has looked at where its machine is that of all workers, and the nodes that
// declare roots tell it before anything is placed (core/job_files.h).
Status check_memory_fit(const State& state, const JobSpec& spec);

}  // namespace rm
