#pragma once

#include <optional>

#include "engine/memory/arena_trace.h"

namespace rm {

// Whether `plan` may be used for `trace`: an offset for every block, none negative, no two blocks
// that live together share a byte, the peak is what it says, and within `capacity` where there is
// one. Shares no code with the solvers and compares every pair. Sizes and times are as check_trace
// demands.
Status validate_arena(const ArenaTrace& trace, const ArenaPlan& plan,
                      std::optional<Bytes> capacity = {});

}  // namespace rm
