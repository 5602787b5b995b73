#pragma once

#include "engine/dry_run/memory_search.h"

namespace rm {

// Chooses the fastest policy within `spec`'s limits: keeps what the spec says and tries what it
// leaves open. Alpha is the largest that fits; on the host, the one beyond which moving more would
// take longer than recomputing it. Without a profile, the first that fits of: kept on the device,
// on the host, in windows, each with the largest alpha, and then the same with attention
// recomputed. Where nothing fits, inputs are kept of every 2nd, 4th or 8th layer. A spec without
// limits gives resolve_memory's policy. Ignores the shape's own memory. A pure function of its
// arguments, so the same on every rank. Errors: those of predict; resource_exhausted naming the
// policy nearest to the limits and the memory that it takes.
Result<ChosenMemory> choose_memory(const RankSpec& rank, const StageShape& shape,
                                   const MemorySpec& spec, const DryRunOptions& options);

}  // namespace rm
