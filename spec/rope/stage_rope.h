#pragma once

#include <cstddef>
#include <string>

#include "spec/job_spec.h"
#include "spec/model_preset.h"

namespace rm {

// Tokens of a sequence that the model was pretrained on: as its configuration says, or else the
// context of the job's first stage.
std::int64_t pretrained_context(const ModelConfig& model, const JobSpec& spec);

// The rotary embedding of a stage: the model's, with what the stage changes. Base `auto` is
// NTK-aware scaling: the model's base x s^(D / (D - 2)) for s = context / pretrained context, so
// that the longest wave is stretched by s (bloc97, 2023; Peng et al., arXiv:2309.00071, eq. 16).
RopeConfig stage_rope(const ModelConfig& model, const JobSpec& spec, std::size_t stage);

// Whether the stage changes anything of the model's.
bool has_own_rope(const StageSpec& stage);

// "yarn, base 10000, factor 16 over 4096 tokens", for people.
std::string rope_text(const RopeConfig& rope);

}  // namespace rm
