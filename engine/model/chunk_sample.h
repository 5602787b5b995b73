#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/memory_policy.h"

namespace rm {

// The chunks that a dry run goes over: some at the front and some at the back of a long context.
// The chunks between them repeat the same work and are left out: docs/memory.md says why that finds
// the same requests, races and times.
struct ChunkSample {
    enum class Queries { sampled, all };
    std::size_t front = 0;
    std::size_t back = 0;
    // Whether attention's queries are left out with the tokens. Where keys are whole on the device,
    // every chunk of queries meets another number of them, so none stands for another.
    Queries queries = Queries::sampled;
    // By which the sampled chunks keep tiles; nothing: the policy's.
    std::optional<double> alpha = {};
};

// Kept tiles lie in the same places of every `chunks` chunks, for this alpha: the policy's where
// that repeats after few chunks, else the nearest that does.
struct KeptPeriod {
    std::int64_t chunks = 1;
    double alpha = 0;
};
KeptPeriod kept_period(const MemoryPolicy& policy);

// Enough for what a pass requests and for its order: every slot of a window is used again and
// again, and every place of kept tiles is met.
ChunkSample planning_sample(const MemoryPolicy& policy);

}  // namespace rm
