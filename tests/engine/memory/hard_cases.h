#pragma once

#include "base/random.h"
#include "engine/memory/arena_trace.h"

// Traces that are hard to place, cut out of an arena of `capacity` bytes that is full at every
// moment: a plan exists at that capacity, but none below it.
namespace rm::test {

// Cuts the arena in two through its whole length or height, then each part again, largest first.
ArenaTrace guillotine_trace(Rng& rng, int count, std::int64_t capacity);

// Cuts as above, into parts that differ little: neither size nor lifetime suggests an order.
ArenaTrace tight_trace(Rng& rng, int count, std::int64_t capacity);

// Teeth that begin one after the other; each cuts every row a little later than the row below it,
// so that room appears bit by bit.
ArenaTrace sawtooth_trace(Rng& rng, int count, std::int64_t capacity);

}  // namespace rm::test
