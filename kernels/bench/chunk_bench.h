#pragma once

#include "base/result.h"

namespace rm::bench {

// Which chunks of a long context are gone over: a sample of them, or all.
enum class Chunks { sampled, all };

// A table: chunks of a context in windows against seconds and memory, of the dry run and of the
// plan that every rank makes at its start. Chunks::all leaves out rows that would take minutes.
Status print_chunk_table(Chunks chunks);

}  // namespace rm::bench
