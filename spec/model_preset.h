#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"
#include "spec/mesh.h"

namespace rm {

// How rotary frequencies are stretched, under the names Hugging Face stores (`rope_type`).
enum class RopeType { standard, linear, dynamic, yarn, longrope, llama3 };
constexpr auto vocabulary_of(RopeType) {
    return vocabulary<RopeType>("rope_type:", {{RopeType::standard, "default"},
                                               {RopeType::linear, "linear"},
                                               {RopeType::dynamic, "dynamic"},
                                               {RopeType::yarn, "yarn"},
                                               {RopeType::longrope, "longrope"},
                                               {RopeType::llama3, "llama3"}});
}
Result<RopeType> parse_rope_type(std::string_view name);  // `su` is longrope's old name

// Rotary position embedding of a model; engine/model/rope.cc says what a field means to each type.
// Fields that the type does not use keep their defaults.
struct RopeConfig {
    RopeType type = RopeType::standard;
    double theta = 10000;
    double factor = 1;  // linear, dynamic, yarn, longrope, llama3
    // Positions of pretraining (dynamic, yarn, longrope, llama3).
    std::int64_t original_context = 0;
    // Multiplies cos and sin (yarn, longrope); nullopt: derived from `factor`.
    std::optional<double> attention_factor;
    double beta_fast = 32;  // yarn
    double beta_slow = 1;
    double mscale = 0;  // both or none
    double mscale_all_dim = 0;
    bool truncate = true;
    double low_freq_factor = 1;  // llama3
    double high_freq_factor = 4;
    std::vector<double> short_factor;  // longrope, D / 2 each
    std::vector<double> long_factor;
    bool operator==(const RopeConfig&) const = default;
};

// The error names the field as Hugging Face spells it, its value and what would be valid.
Status validate(const RopeConfig& rope, std::int64_t head_dim);

// Sizes of a Llama-family model; letters as in docs/notation.md. Hq x D need not equal C.
struct ModelConfig {
    std::int64_t vocabulary = 0;       // V
    std::int64_t hidden = 0;           // C
    std::int64_t num_layers = 0;       // L
    std::int64_t num_query_heads = 0;  // Hq
    std::int64_t num_kv_heads = 0;     // Hk
    std::int64_t head_dim = 0;         // D
    std::int64_t feed_forward = 0;     // F
    double norm_eps = 1e-5;
    bool tied_head = false;
    RopeConfig rope;                 // a stage may replace its theta
    std::int64_t max_positions = 0;  // the longest sequence it supports; 0: not stated
    bool operator==(const ModelConfig&) const = default;

    std::int64_t num_parameters() const;
    ModelDims dims() const { return {num_query_heads, num_kv_heads, feed_forward}; }
};

// "micro", "mini" and "tiny" (byte models for the CPU), "llama3-8b", "llama3-70b". The error lists
// the names.
Result<ModelConfig> find_preset(std::string_view name);
std::vector<std::string> preset_names();

// Model FLOPs of one training step over `tokens` tokens that attend `pairs` query-key pairs:
// forward and backward (three times forward), no recompute. `pairs` under the causal mask gives
// causal MFU; contexts squared give the full-attention count.
double training_flops(const ModelConfig& model, double tokens, double pairs);

}  // namespace rm
