#pragma once

#include <string>

#include "controller/core/state.h"

namespace rm {

// The directory of the job's checkpoints, for `checkpoint.from` and `--from`: only its ranks know
// its current contents. A reported checkpoint may have been pruned since, and newer ones may be
// unreported. Empty: no checkpoint was reported.
std::string checkpoints_of(const State& state, const Job& job);

}  // namespace rm
