#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "base/job_spec.h"
#include "base/plan.h"
#include "base/result.h"
#include "engine/train/run_rank.h"

// RankConfig and JobSpec as JSON; the format is documented in docs/formats/ring_train.md.
namespace rm {

nlohmann::json job_spec_to_json(const JobSpec& spec);
// Absent keys keep their defaults, unknown keys are errors. Not validated: see validate(JobSpec).
Result<JobSpec> job_spec_from_json(const nlohmann::json& value);

// Without its placement, which a rank does not look at.
nlohmann::json plan_to_json(const Plan& plan);
Result<Plan> plan_from_json(const nlohmann::json& value);

std::string to_json(const RankConfig& config);
Result<RankConfig> parse_rank_config(std::string_view text);

}  // namespace rm
