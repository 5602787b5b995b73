#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/model_preset.h"

namespace rm {

enum class ParameterKind { embedding, norm, linear, head };

// One tensor of the model, named and shaped as Hugging Face stores it, and its place in the flat
// buffers that hold all of them (weights, gradients and both moments share the layout).
struct Parameter {
    std::string name;
    ParameterKind kind = ParameterKind::linear;
    std::vector<std::int64_t> shape;  // (N, K), or (C) for norms
    std::int64_t first = 0;           // element offset, a multiple of kParameterAlign
    double init_std = 0;              // 0: ones
    std::int64_t num_elements() const;
};
constexpr std::int64_t kParameterAlign = 16;

// Indices into ParameterTable::all of one layer.
struct LayerParameters {
    int attention_norm = 0;
    int q = 0;
    int k = 0;
    int v = 0;
    int o = 0;
    int mlp_norm = 0;
    int gate = 0;
    int up = 0;
    int down = 0;
};

// All parameters of a Llama-family model, in a fixed order.
struct ParameterTable {
    std::vector<Parameter> all;
    std::vector<LayerParameters> layers;
    int embedding = 0;
    int final_norm = 0;
    int head = 0;                   // the embedding itself when tied
    std::int64_t num_elements = 0;  // of a flat buffer, alignment included
};
ParameterTable make_parameters(const ModelConfig& model);

}  // namespace rm
