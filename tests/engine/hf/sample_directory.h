#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "engine/hf/directory.h"
#include "engine/hf/export.h"
#include "engine/model/weight_state.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/temp_dir.h"

namespace rm {

inline ModelConfig tiny_llama() {
    return {.vocabulary = 24,
            .hidden = 16,
            .num_layers = 2,
            .num_query_heads = 4,
            .num_kv_heads = 2,
            .head_dim = 8,
            .feed_forward = 32,
            .max_positions = 64};
}

// Writes a safetensors file whose tensors are filled with `byte`.
inline void write_tensors(const std::string& path, std::vector<SafetensorsEntry> entries,
                          char byte = 1) {
    std::int64_t end = 0;
    for (SafetensorsEntry& entry : entries) {
        std::int64_t bytes = size_of(entry.type);
        for (const std::int64_t size : entry.shape)
            bytes *= size;
        entry.begin = end;
        entry.end = end += bytes;
    }
    std::ofstream(path, std::ios::binary) << encode_safetensors_header(entries, {{"format", "pt"}})
                                          << std::string(static_cast<std::size_t>(end), byte);
}

// Returns the entries of a model's file, without offsets.
inline std::vector<SafetensorsEntry> entries_of(const ModelConfig& model,
                                                StorageType type = StorageType::f32) {
    std::vector<SafetensorsEntry> entries;
    for (const Parameter& parameter : make_parameters(model).all)
        entries.push_back({parameter.name, type, parameter.shape});
    return entries;
}

inline void write_config(const std::string& dir, const ModelConfig& model) {
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/config.json") << make_hf_config(model, {}, "float32").dump(2);
}

// Kernels and weights from a seed.
struct SampleWeights {
    explicit SampleWeights(const ModelConfig& model, std::uint64_t seed = 1)
        : kernels(make_cpu_kernels({.num_threads = 1})), weights(*kernels, model) {
        weights.initialize(seed);
    }
    std::unique_ptr<Kernels> kernels;
    WeightState weights;
};

// Exports from a single rank.
inline Status export_weights(const HfExport& options, const ModelConfig& model,
                             const WeightState& weights, Faults& faults) {
    WholeWeights whole(nullptr, weights);
    RM_TRY(const StagedExport staged, stage_hf(options, model, whole, faults));
    return publish_hf(staged, options.epoch, faults);
}

// Returns all master weights, one tensor after the other.
inline std::vector<float> values_of(const WeightState& weights) {
    std::vector<float> values;
    for (int i = 0; i < static_cast<int>(weights.table().all.size()); ++i) {
        const TensorView weight = weights.weight(i);
        const float* first = weight.as<float>();
        values.insert(values.end(), first, first + weight.num_elements());
    }
    return values;
}

inline std::vector<std::string> file_names(const std::string& dir) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace rm
