#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "engine/train/dry_rank.h"

// The engine's own memory traces: what its passes request, for models and policies of every size.
namespace rm::bench {

struct EngineCase {
    std::string name;
    RankSpec spec;
    StageShape shape;
    DType compute = DType::bf16;
};
// Models from a test's to 70B, one rank, rings, ulysses and tensor; no case needs memory for its
// weights.
std::vector<EngineCase> engine_cases();

// One arena of one kind of pass.
struct EngineTrace {
    std::string name;  // of the case, of the pass and of the arena: 8b_windows.train.device
    PassRequests pass;
};
std::vector<EngineTrace> engine_traces(const EngineCase& c);

}  // namespace rm::bench
