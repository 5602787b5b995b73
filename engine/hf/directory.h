#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/hf/config.h"
#include "engine/model/parameters.h"
#include "engine/model/weight_state.h"

namespace rm {

// A model as Hugging Face stores it: config.json and model.safetensors, or shards with an index
// (docs/formats/huggingface.md). open() checks that it holds every tensor of the model in its shape
// once, in F32, F16 or BF16, and nothing else; it reads no weight. Reading is const and thread
// safe. Errors name directory, file, tensor and value.
class HfDirectory {
public:
    static Result<HfDirectory> open(const std::string& path);

    const std::string& path() const { return path_; }
    const HfConfig& config() const { return config_; }
    const ModelConfig& model() const { return config_.model; }
    bool has(const std::string& tensor) const { return file_of_.count(tensor) != 0; }

    // The tensor's elements from `first` on, row-major, as many as `out` (f32 or f64) has.
    Status read(const std::string& tensor, std::int64_t first, const TensorView& out) const;

private:
    HfDirectory() = default;
    Status open_files();
    Status add_file(const std::string& name);
    Status check_index(const std::map<std::string, std::string>& weight_map) const;
    Status check_names(const ParameterTable& table) const;
    Status check_shapes(const ParameterTable& table) const;

    std::string path_;
    HfConfig config_;
    std::vector<SafetensorsFile> files_;
    std::map<std::string, std::size_t> file_of_;  // by tensor
};

// Reads config.json only.
Result<HfConfig> read_hf_config(const std::string& directory);

constexpr std::string_view kHfConfigFile = "config.json";
constexpr std::string_view kHfHeadName = "lm_head.weight";

// Fills the master weights that this rank holds and zeroes both moments; every element is exact.
// Rotary pairs are (i, i + D/2), in Hugging Face's files as in our kernels, so q and k are read
// unchanged. A stored tied head must equal the embedding. Host side, while no work is queued.
// `activity` counts bytes and can cancel; null: neither.
Status load_hf_weights(const HfDirectory& directory, WeightState& weights,
                       Activity* activity = nullptr);

}  // namespace rm
