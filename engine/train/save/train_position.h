#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/data/mixed_stream.h"
#include "engine/model/linears/fp8_monitor.h"
#include "spec/job_spec.h"
#include "spec/model_preset.h"

namespace rm {

// How far a job has come; with the tensors, all that a checkpoint holds. Mesh-independent.
struct TrainPosition {
    std::int64_t step = 0;          // optimizer steps done, over all stages
    int stage = 0;                  // of the next step
    std::int64_t stage_step = 0;    // steps of that stage done
    std::int64_t tokens_total = 0;  // trained
    double first_loss = 0;          // of the job's first step; 0: not known
    DataPosition data;
    bool operator==(const TrainPosition&) const = default;
};

// Learning rate of a stage's step (1 is its first): linear warm-up from 0, then the stage's
// schedule, which reaches final_learning_rate at the last step.
double learning_rate_at(const StageSpec& stage, std::int64_t stage_step);

// Counts one step of `tokens` tokens and moves to the next stage when this one is done.
void advance(TrainPosition& position, const JobSpec& spec, std::int64_t tokens);

// The memory that a run in FP8 has of its steps; empty without FP8.
struct Fp8Memory {
    std::vector<std::vector<float>> history;  // Fp8History::steps()
    Fp8Fallback::Stays bf16;
};

// The `state` of a checkpoint's manifest. Besides the position it records what must not change
// under a resume: seed, model and the data's hash; and how the model was trained (TrainedModel).
nlohmann::json checkpoint_state(const TrainPosition& position, const JobSpec& spec,
                                const ModelConfig& model, const std::string& data_hash,
                                const Fp8Memory& fp8 = {});
struct ResumePoint {
    TrainPosition position;
    std::string data_hash;
    Fp8Memory fp8;
};
// failed_precondition names what differs between the checkpoint and the job.
Result<ResumePoint> read_checkpoint_state(const nlohmann::json& state, const JobSpec& spec,
                                          const ModelConfig& model);

}  // namespace rm
