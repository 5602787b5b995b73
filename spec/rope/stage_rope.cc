#include "spec/rope/stage_rope.h"

#include <algorithm>
#include <cmath>

namespace rm {
namespace {

double stretch(const ModelConfig& model, const JobSpec& spec, std::size_t stage) {
    const auto context = static_cast<double>(spec.stages[stage].context);
    return std::max(1.0, context / static_cast<double>(pretrained_context(model, spec)));
}

double stage_theta(const ModelConfig& model, const JobSpec& spec, std::size_t stage) {
    const double theta = spec.stages[stage].rope_theta;
    if (theta == 0) return model.rope.theta;
    if (theta != kAutoTheta) return theta;
    const auto D = static_cast<double>(model.head_dim);
    return model.rope.theta * std::pow(stretch(model, spec, stage), D / (D - 2));
}

}  // namespace

std::int64_t pretrained_context(const ModelConfig& model, const JobSpec& spec) {
    if (model.rope.original_context > 0) return model.rope.original_context;
    return model.max_positions > 0 ? model.max_positions : spec.stages.front().context;
}

RopeConfig stage_rope(const ModelConfig& model, const JobSpec& spec, std::size_t stage) {
    const StageSpec& changes = spec.stages[stage];
    RopeConfig rope = model.rope;
    if (changes.rope != StageRope::model) {
        rope = {};
        if (changes.rope == StageRope::linear) rope.type = RopeType::linear;
        if (changes.rope == StageRope::yarn) rope.type = RopeType::yarn;
        const double factor =
            changes.rope_factor > 0 ? changes.rope_factor : stretch(model, spec, stage);
        if (rope.type != RopeType::standard) rope.factor = factor;
        if (rope.type == RopeType::yarn) rope.original_context = pretrained_context(model, spec);
    }
    rope.theta = stage_theta(model, spec, stage);
    return rope;
}

bool has_own_rope(const StageSpec& stage) {
    return stage.rope != StageRope::model || stage.rope_theta != 0;
}

std::string rope_text(const RopeConfig& rope) {
    std::string text = format("{}, base {}", to_string(rope.type), rope.theta);
    if (rope.factor != 1) text += format(", factor {}", rope.factor);
    if (rope.original_context > 0) text += format(" over {} tokens", rope.original_context);
    return text;
}

}  // namespace rm
