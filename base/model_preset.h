#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mesh.h"
#include "base/result.h"
#include "base/rope_config.h"

namespace rm {

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

// "tiny" and "micro" (byte models for the CPU), "llama3-8b", "llama3-70b". The error lists the
// names.
Result<ModelConfig> find_preset(std::string_view name);
std::vector<std::string> preset_names();

// Model FLOPs of one training step over `tokens` tokens that attend `pairs` query-key pairs:
// forward and backward (three times forward), no recompute. `pairs` under the causal mask gives
// causal MFU; contexts squared give the full-attention count.
double training_flops(const ModelConfig& model, double tokens, double pairs);

}  // namespace rm
