#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/model_preset.h"

// config.json of a Hugging Face directory (docs/formats/huggingface.md).
namespace rm {

struct HfConfig {
    ModelConfig model;
    nlohmann::json text;  // the whole file, which an export carries over
};

// Reads the config.json of a Llama, as transformers writes it. An unsupported key that would change
// the arithmetic is an error that names it; keys that only concern generation or training scripts
// are kept and ignored.
Result<HfConfig> parse_hf_config(std::string_view text);

// Makes the config.json of an export: `base` (an earlier config.json, or null) with every key
// that describes the model or its number type replaced. `torch_dtype`: bfloat16 or float32.
nlohmann::json make_hf_config(const ModelConfig& model, const nlohmann::json& base,
                              std::string_view torch_dtype);

// model.safetensors.index.json: which shard holds which tensor.

constexpr std::string_view kHfIndexFile = "model.safetensors.index.json";
constexpr std::string_view kHfSingleFile = "model.safetensors";

using HfWeightMap = std::map<std::string, std::string>;  // tensor -> file name

// File names must be plain names of .safetensors files, so that none leaves the directory.
Result<HfWeightMap> parse_hf_index(std::string_view text);
std::string encode_hf_index(const HfWeightMap& weight_map, std::int64_t total_bytes);

}  // namespace rm
