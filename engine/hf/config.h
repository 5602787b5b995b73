#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/model_preset.h"

// config.json of a Hugging Face directory (docs/formats/huggingface.md).
namespace rm {

struct HfConfig {
    ModelConfig model;
    nlohmann::json text;  // all of the file, for an export to carry on
};

// A Llama as transformers writes it. Whatever would change the arithmetic and is not supported is
// an error that names the key; keys that only concern generation or training scripts are kept and
// not looked at.
Result<HfConfig> parse_hf_config(std::string_view text);

// The config.json of an export: `base` (an earlier config.json, or null) with everything that says
// something about the model and its numbers replaced. `torch_dtype`: bfloat16 or float32.
nlohmann::json make_hf_config(const ModelConfig& model, const nlohmann::json& base,
                              std::string_view torch_dtype);

// model.safetensors.index.json: which shard holds which tensor.

constexpr std::string_view kHfIndexFile = "model.safetensors.index.json";
constexpr std::string_view kHfSingleFile = "model.safetensors";

using HfWeightMap = std::map<std::string, std::string>;  // tensor -> file name

// File names are plain names of .safetensors files: nothing outside the directory is reached.
Result<HfWeightMap> parse_hf_index(std::string_view text);
std::string encode_hf_index(const HfWeightMap& weight_map, std::int64_t total_bytes);

}  // namespace rm
