#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

// model.safetensors.index.json: which shard holds which tensor.
namespace rm {

constexpr std::string_view kHfIndexFile = "model.safetensors.index.json";
constexpr std::string_view kHfSingleFile = "model.safetensors";

using HfWeightMap = std::map<std::string, std::string>;  // tensor -> file name

// File names are plain names of .safetensors files: nothing outside the directory is reached.
Result<HfWeightMap> parse_hf_index(std::string_view text);
std::string encode_hf_index(const HfWeightMap& weight_map, std::int64_t total_bytes);

}  // namespace rm
