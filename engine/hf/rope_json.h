#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "spec/model_preset.h"

namespace rm {

// Reads the rotary embedding of a config.json in either spelling: `rope_theta` with `rope_scaling`,
// or `rope_parameters`. Where both are given they must agree. Errors name the key. There is no
// default base. `config` has no null members.
Result<RopeConfig> read_hf_rope(const nlohmann::json& config, std::int64_t max_positions,
                                std::int64_t head_dim);

// Reads one complete object: `rope_type`, `rope_theta` and every field that the type uses.
// max_positions 0: not known.
Result<RopeConfig> rope_parameters_from_json(const nlohmann::json& value, const std::string& path,
                                             std::int64_t max_positions, std::int64_t head_dim);
nlohmann::json rope_parameters_to_json(const RopeConfig& rope);

// Sets `rope_theta` and `rope_scaling`, the spelling that old and new transformers read, and the
// other keys that the type needs; removes `rope_parameters`.
void write_hf_rope(const RopeConfig& rope, nlohmann::json& config);

nlohmann::json without_nulls(const nlohmann::json& object);  // its own members only

}  // namespace rm
