#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/memory/arena_trace.h"
#include "kernels/meta/schedule.h"

namespace rm::test {

// Indices of items; kNever if there is no such item.
struct BufferLife {
    static constexpr std::int64_t kNever = -1;
    std::int64_t request = kNever;
    std::int64_t release = kNever;
};

// Finds each buffer's life. Errors: requested or released twice, or released before its request.
Result<std::vector<BufferLife>> buffer_lives(const StepSchedule& schedule);

// Returns the lifetimes of one arena's buffers, in order of request; time is the item's index.
// Keeps the buffers' groups. Fails if a buffer is never released, is requested or released twice,
// or is released before its request.
Result<ArenaTrace> arena_trace(const StepSchedule& schedule, int arena);

// Fails, for a schedule as recorded, if work is queued before the request of a buffer it touches or
// after its release. The error names the first such work.
Status check_lifetimes(const StepSchedule& schedule);

}  // namespace rm::test
