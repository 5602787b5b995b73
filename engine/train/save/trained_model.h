#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/hf/export.h"
#include "engine/train/save/train_position.h"

namespace rm {

// A model as it has been trained, with what its use needs besides the weights. A checkpoint's state
// records it, so that its readers need not know the job.
struct TrainedModel {
    ModelConfig model;         // with the rotary embedding of the latest stage
    std::int64_t context = 0;  // tokens, the longest trained; 0: not recorded, by an older build
    std::string tokenizer;     // data.tokenizer; empty: not recorded
    std::string from;          // model.from; empty: from a seed
    DType compute = DType::f32;
};

TrainedModel trained_model(const JobSpec& spec, const ModelConfig& model,
                           const TrainPosition& position);

// The object that the state of a checkpoint records.
nlohmann::json trained_model_to_json(const TrainedModel& trained);
// data_loss names what is missing or wrong.
Result<TrainedModel> trained_model_of(const nlohmann::json& checkpoint_state);

// Its export to `path`: bf16 if it computed in bf16, else f32.
HfExport export_of(const TrainedModel& trained, const std::string& path);

}  // namespace rm
