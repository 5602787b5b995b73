#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "base/model_preset.h"
#include "base/result.h"

// A model's sizes as JSON: in rank configurations and in the state of checkpoints.
namespace rm {

nlohmann::json model_config_to_json(const ModelConfig& model);
// Absent keys keep their defaults, unknown keys are errors. Errors name `path`, the key and what
// would be right.
Result<ModelConfig> model_config_from_json(const nlohmann::json& value, const std::string& path);

}  // namespace rm
