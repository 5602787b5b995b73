#include "base/model_preset.h"

#include <array>

namespace rm {
namespace {

struct Preset {
    std::string_view name;
    ModelConfig config;
};

// Byte models have 256 bytes and one end-of-document token.
constexpr std::int64_t kByteVocabulary = 257;

std::array<Preset, 4> presets() {
    return {{
        {"micro", {kByteVocabulary, 64, 2, 4, 2, 16, 160, 1e-5, false}},
        {"tiny", {kByteVocabulary, 256, 4, 4, 2, 32, 768, 1e-5, false}},
        {"llama3-8b", {128256, 4096, 32, 32, 8, 128, 14336, 1e-5, false, {.theta = 500000}, 8192}},
        {"llama3-70b", {128256, 8192, 80, 64, 8, 128, 28672, 1e-5, false, {.theta = 500000}, 8192}},
    }};
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
    std::string known;
    for (const std::string& preset : preset_names())
        known += (known.empty() ? "" : ", ") + preset;
    return invalid_argument("model.preset: '{}' is not known; {}", name, known);
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

}  // namespace rm
