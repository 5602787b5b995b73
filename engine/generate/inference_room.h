#pragma once

#include <cstdint>

#include "engine/train/rank_engine.h"
#include "engine/train/save/meeting.h"

namespace rm {

// A stage for inference alone: prompts of up to `tokens`, and up to `new_tokens` after each.
struct InferenceRoom {
    std::int64_t tokens = 0;
    std::int64_t new_tokens = 0;  // 0: none follow
    RopeConfig rope;
    std::int64_t trained_context = 0;  // for RoPE types that depend on a context
    MemoryPolicy memory = {};          // where that has no room, windows take its place
};

// Enters the stage on every rank. Collective. Ends the stage that the engine is in, whatever comes
// of it. resource_exhausted: a rank has no room, in windows neither.
Status enter_inference(RankEngine& engine, Meeting& meeting, const InferenceRoom& room);
// Only plans it. Collective; the same errors.
Status check_inference(RankEngine& engine, Meeting& meeting, const InferenceRoom& room);

}  // namespace rm
