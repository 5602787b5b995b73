#pragma once

#include <string>

#include "controller/core/state.h"

namespace rm {

// The directory of the job's checkpoints, for `checkpoint.from` and `--from`: what is in it now,
// its ranks know. A checkpoint that a worker has told of may have been pruned since, and newer ones
// of which nobody told may be there. Empty: none was heard of.
std::string checkpoints_of(const State& state, const Job& job);

}  // namespace rm
