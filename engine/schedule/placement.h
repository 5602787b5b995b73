#pragma once

#include <span>

#include "base/result.h"
#include "engine/memory/arena_trace.h"
#include "kernels/meta/schedule.h"

// The buffers of a schedule's arenas: from lifetimes to a plan and back.
namespace rm {

// The lifetimes of one arena's buffers, in the order of their requests; time is the item's index.
// Groups as the buffers have them. Errors: a buffer that is never released, requested or released
// twice, or released before its request.
Result<ArenaTrace> arena_trace(const StepSchedule& schedule, int arena);

// The same schedule with every buffer of the arenas at its planned place (an arena per entry of
// `plans`, device then host), so that what shares bytes shows. Ranges outside stay as they are, and
// no arena meets them.
StepSchedule place_buffers(const StepSchedule& schedule, std::span<const ArenaPlan> plans);

// For a schedule as it was recorded: work queued before the request of a buffer it touches, or
// after its release. The error names the first.
Status check_lifetimes(const StepSchedule& schedule);

}  // namespace rm
