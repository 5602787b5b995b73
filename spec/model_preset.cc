#include "spec/model_preset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace rm {
namespace {

struct Preset {
    std::string_view name;
    ModelConfig config;
};

// Byte models have 256 bytes and one end-of-document token.
constexpr std::int64_t kByteVocabulary = 257;

std::array<Preset, 6> presets() {
    return {{
        {"micro", {kByteVocabulary, 64, 2, 4, 2, 16, 160, 1e-5, false}},
        {"mini", {kByteVocabulary, 128, 4, 4, 4, 32, 320, 1e-5, false}},
        {"tiny", {kByteVocabulary, 256, 4, 4, 2, 32, 768, 1e-5, false}},
        {"llama2-7b", {32000, 4096, 32, 32, 32, 128, 11008, 1e-5, false, {.theta = 10000}, 4096}},
        {"llama3-8b", {128256, 4096, 32, 32, 8, 128, 14336, 1e-5, false, {.theta = 500000}, 8192}},
        {"llama3-70b", {128256, 8192, 80, 64, 8, 128, 28672, 1e-5, false, {.theta = 500000}, 8192}},
    }};
}

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

std::int64_t ModelConfig::num_parameters() const {
    const std::int64_t attention = hidden * head_dim * (2 * num_query_heads + 2 * num_kv_heads);
    const std::int64_t layer = attention + 3 * hidden * feed_forward + 2 * hidden;
    const std::int64_t heads = tied_head ? 1 : 2;
    return num_layers * layer + heads * vocabulary * hidden + hidden;
}

Result<ModelConfig> find_preset(std::string_view name) {
    for (const Preset& preset : presets()) {
        if (preset.name == name) return preset.config;
    }
    return invalid_argument("model.preset: '{}' is not known; {}", name, join(preset_names()));
}

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : presets())
        names.emplace_back(preset.name);
    return names;
}

double training_flops(const ModelConfig& m, double tokens, double pairs) {
    const auto attention_weights =
        static_cast<double>(m.hidden * m.head_dim * (2 * m.num_query_heads + 2 * m.num_kv_heads));
    const auto mlp_weights = static_cast<double>(3 * m.hidden * m.feed_forward);
    const auto head_weights = static_cast<double>(m.vocabulary * m.hidden);
    const auto layers = static_cast<double>(m.num_layers);
    const double linear = 2 * tokens * (layers * (attention_weights + mlp_weights) + head_weights);
    // Scores and values: two products of D per pair and query head.
    const double attention =
        4 * pairs * layers * static_cast<double>(m.num_query_heads * m.head_dim);
    return 3 * (linear + attention);
}

Result<RopeType> parse_rope_type(std::string_view name) {
    if (name == "su") return RopeType::longrope;
    return parse_word<RopeType>(name);
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
