#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/memory/arena_trace.h"
#include "kernels/meta/schedule.h"

namespace rm::test {

// Items; kNever where there is none.
struct BufferLife {
    static constexpr std::int64_t kNever = -1;
    std::int64_t request = kNever;
    std::int64_t release = kNever;
};

// Each buffer's life. Errors: one is requested or released twice, or released before its request.
Result<std::vector<BufferLife>> buffer_lives(const StepSchedule& schedule);

// The lifetimes of one arena's buffers, in the order of their requests; time is the item's index.
// Groups as the buffers have them. Errors: a buffer that is never released, requested or released
// twice, or released before its request.
Result<ArenaTrace> arena_trace(const StepSchedule& schedule, int arena);

// For a schedule as it was recorded: work queued before the request of a buffer it touches, or
// after its release. The error names the first.
Status check_lifetimes(const StepSchedule& schedule);

}  // namespace rm::test
