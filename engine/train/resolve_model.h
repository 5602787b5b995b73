#pragma once

#include <optional>

#include "base/job_spec.h"
#include "base/model_preset.h"
#include "base/result.h"

namespace rm {

// The architecture a job trains: `given` sizes, or those of the directory or preset it names.
Result<ModelConfig> resolve_model(const ModelSpec& spec, const std::optional<ModelConfig>& given);

}  // namespace rm
