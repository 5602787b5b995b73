#pragma once

#include <cstdint>

#include "base/job_spec.h"

namespace rm {

// Learning rate of a stage's step (1 is its first): linear warm-up from 0, then the stage's
// schedule, which reaches final_learning_rate at the last step.
double learning_rate_at(const StageSpec& stage, std::int64_t stage_step);

}  // namespace rm
