#pragma once

#include <optional>

#include "base/job_spec.h"
#include "base/model_preset.h"
#include "base/result.h"

namespace rm {

// The architecture a job trains: `given` sizes, or those of the directory or preset it names. A
// preset's vocabulary is that of the job's tokenizer file, rounded up to a multiple of 64.
Result<ModelConfig> resolve_model(const JobSpec& spec, const std::optional<ModelConfig>& given);

}  // namespace rm
