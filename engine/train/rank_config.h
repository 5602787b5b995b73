#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/model/linears/linear_precision.h"
#include "engine/model/parameters.h"
#include "engine/train/rank_device.h"
#include "kernels/tensor.h"
#include "spec/job_spec.h"
#include "spec/model_preset.h"
#include "spec/plan.h"

namespace rm {

// Everything that decides what one rank does. Written as JSON for rank processes; the format is
// documented in docs/formats/ring_train.md.
struct RankConfig {
    JobSpec spec;
    std::optional<ModelConfig> model;  // instead of spec.model.preset: sizes given directly
    Plan plan;                         // mesh, memory, timeout; placement is not looked at
    Epoch epoch{1};
    int rank = 0;
    RankDevice device;
    std::string device_uuid;     // the GPU that the process sees alone; empty: all
    int numa_node = -1;          // of the GPU; -1: unknown
    std::string device_profile;  // the file of its kind's measured profile; empty: none
    Bytes device_memory;         // of an emulated device; 0: the emulator's default
    int num_threads = 1;         // of this rank's pool
    Bytes host_memory;           // its share of what ranks may use of the machine's; 0: no limit
    std::string run_dir;         // rank 0 writes metrics.jsonl here; empty: nowhere
    std::string checkpoint_dir;  // spec.checkpoint.dir or a directory of the cluster; empty: none
    double peak_flops = 0;       // one rank's share of the measured peak; 0: MFU is not reported
    std::string peak_name;       // "fp32 112 GFLOP/s measured"
    std::int64_t stop_after_steps =
        0;  // 0: never; else as if asked to stop after this many (tests)
};

// The type that the rank's kernels must compute in.
inline DType compute_type(const JobSpec& spec) {
    return precision_of(spec.precision) == Precision::bf16 ? DType::bf16 : DType::f32;
}

// The types of what is kept in bf16 or as sums are formed.
inline StateTypes state_types(const JobSpec& spec) {
    const auto type_of = [](std::string_view precision) -> std::optional<DType> {
        if (precision_of(precision) == Precision::bf16) return DType::bf16;
        return std::nullopt;
    };
    return {type_of(spec.optimizer.moments), type_of(spec.optimizer.gradients)};
}

constexpr Fp8LinearScaling scaling_of(Fp8Recipe recipe) {
    if (recipe == Fp8Recipe::delayed) return Fp8LinearScaling::delayed;
    return recipe == Fp8Recipe::blockwise ? Fp8LinearScaling::blocks : Fp8LinearScaling::current;
}
inline LinearPrecision linear_precision(const JobSpec& spec) {
    const Fp8 gradients = spec.fp8.gradients == Fp8Gradients::e4m3 ? Fp8::e4m3 : Fp8::e5m2;
    const Fp8LinearScaling scaling = scaling_of(spec.fp8.recipe);
    const Fp8Limits limits{spec.fp8.max_saturated, spec.fp8.max_flushed, spec.fp8.fallback_steps};
    return {computes_in_fp8(spec), gradients, spec.fp8.bf16_layers, scaling, limits};
}

// The architecture a job trains: `given` sizes, or those of the directory or preset it names.
Result<ModelConfig> architecture_of(const JobSpec& spec, const std::optional<ModelConfig>& given);
// The same, and a preset has the vocabulary of the job's tokenizer file, rounded up to a multiple
// of 64.
Result<ModelConfig> resolve_model(const JobSpec& spec, const std::optional<ModelConfig>& given);

// JSON. Absent keys keep their defaults, unknown keys are errors, which name the path, the key and
// what would be right.

nlohmann::json job_spec_to_json(const JobSpec& spec);
// Not validated: see validate(JobSpec).
Result<JobSpec> job_spec_from_json(const nlohmann::json& value);

// Without its placement, which a rank does not look at.
nlohmann::json plan_to_json(const Plan& plan);
Result<Plan> plan_from_json(const nlohmann::json& value);

// A model's sizes: also in the state of checkpoints.
nlohmann::json model_config_to_json(const ModelConfig& model);
Result<ModelConfig> model_config_from_json(const nlohmann::json& value, const std::string& path);

std::string to_json(const RankConfig& config);
Result<RankConfig> parse_rank_config(std::string_view text);

}  // namespace rm
