#pragma once

#include "spec/model_preset.h"
#include "spec/precision/message_numbers.h"
#include "topology/placement_cost.h"

namespace rm {

// Parameters that determine how many bytes a step moves (docs/communication.md).
struct StepShape {
    std::int64_t context = 0;  // tokens of a sequence
    std::int64_t batch = 0;    // tokens of a step; 0: one sequence per data rank
    int zero = 0;              // ZeRO stage
    int compute_bytes = 2;     // of an element of the compute dtype: bf16 2, f32 4
    int gradient_bytes = 4;    // likewise; bf16 are sharded as from stage 2 on
    MessageSpec messages;
};

// The phases of a training step by the formulas of docs/communication.md, with other sums in fp32.
// Leaves out traffic that does not grow with the model or the context: norms, the loss, softmax
// statistics.
StepTraffic step_traffic(const ModelConfig& model, const Mesh& mesh, const StepShape& shape);

}  // namespace rm
