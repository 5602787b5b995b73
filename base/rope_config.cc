#include "base/rope_config.h"

#include <cmath>

namespace rm {
namespace {

bool above(double value, double bound) {
    return std::isfinite(value) && value > bound;
}

Status check_factor(const RopeConfig& rope) {
    if (rope.type == RopeType::standard) return {};
    if (!std::isfinite(rope.factor) || rope.factor < 1) {
        return invalid_argument("factor: {} must be a number of at least 1", rope.factor);
    }
    if (rope.type == RopeType::linear) return {};
    if (rope.original_context < 1) {
        return invalid_argument("original_max_position_embeddings: {} must be positive",
                                rope.original_context);
    }
    return {};
}

Status check_yarn(const RopeConfig& rope) {
    if (!above(rope.beta_slow, 0) || !above(rope.beta_fast, 0) || rope.beta_fast < rope.beta_slow) {
        return invalid_argument("beta_fast: {} must not be below beta_slow {}, both above 0",
                                rope.beta_fast, rope.beta_slow);
    }
    const bool both_or_none = (rope.mscale == 0) == (rope.mscale_all_dim == 0);
    if (!both_or_none || !std::isfinite(rope.mscale) || rope.mscale < 0 ||
        !std::isfinite(rope.mscale_all_dim) || rope.mscale_all_dim < 0) {
        return invalid_argument("mscale: {} and mscale_all_dim {} must both be given, above 0",
                                rope.mscale, rope.mscale_all_dim);
    }
    return {};
}

Status check_factors(std::string_view name, const std::vector<double>& factors,
                     std::int64_t head_dim) {
    if (static_cast<std::int64_t>(factors.size()) != head_dim / 2) {
        return invalid_argument("{}: {} numbers; head_dim {} takes {}", name, factors.size(),
                                head_dim, head_dim / 2);
    }
    for (const double factor : factors) {
        if (!above(factor, 0)) return invalid_argument("{}: {} must be above 0", name, factor);
    }
    return {};
}

Status check_llama3(const RopeConfig& rope) {
    if (above(rope.low_freq_factor, 0) && above(rope.high_freq_factor, rope.low_freq_factor)) {
        return {};
    }
    return invalid_argument("high_freq_factor: {} must be above low_freq_factor {}, both above 0",
                            rope.high_freq_factor, rope.low_freq_factor);
}

}  // namespace

std::string_view to_string(RopeType type) {
    switch (type) {
        case RopeType::standard:
            return "default";
        case RopeType::linear:
            return "linear";
        case RopeType::dynamic:
            return "dynamic";
        case RopeType::yarn:
            return "yarn";
        case RopeType::longrope:
            return "longrope";
        case RopeType::llama3:
            return "llama3";
    }
    return "?";
}

Result<RopeType> parse_rope_type(std::string_view name) {
    for (const RopeType type : kRopeTypes) {
        if (to_string(type) == name) return type;
    }
    if (name == "su") return RopeType::longrope;
    return invalid_argument(
        "rope_type: '{}' is not known; default, linear, dynamic, yarn, longrope or llama3", name);
}

Status validate(const RopeConfig& rope, std::int64_t head_dim) {
    if (!above(rope.theta, 1)) {
        return invalid_argument("rope_theta: {} must be a number above 1", rope.theta);
    }
    RM_RETURN_IF_ERROR(check_factor(rope));
    if (rope.attention_factor && !above(*rope.attention_factor, 0)) {
        return invalid_argument("attention_factor: {} must be above 0", *rope.attention_factor);
    }
    switch (rope.type) {
        case RopeType::standard:
        case RopeType::linear:
            return {};
        case RopeType::dynamic:
            if (head_dim > 2) return {};
            return invalid_argument("head_dim: {} is too small for dynamic; at least 4", head_dim);
        case RopeType::yarn:
            return check_yarn(rope);
        case RopeType::longrope:
            if (rope.original_context == 1) {
                return invalid_argument("original_max_position_embeddings: 1 must be above 1");
            }
            RM_RETURN_IF_ERROR(check_factors("short_factor", rope.short_factor, head_dim));
            return check_factors("long_factor", rope.long_factor, head_dim);
        case RopeType::llama3:
            return check_llama3(rope);
    }
    return {};
}

}  // namespace rm
