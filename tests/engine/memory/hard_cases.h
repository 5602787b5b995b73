#pragma once

#include "base/random.h"
#include "engine/memory/arena_trace.h"

// Traces that are hard to place, cut out of an arena of `capacity` bytes that is full at every
// moment: there is a plan within it, and none below.
namespace rm::test {

// The arena, cut in two through its whole length or height, and each part again, the largest first.
ArenaTrace guillotine_trace(Rng& rng, int count, std::int64_t capacity);

// Guillotine cuts of parts that differ little: neither size nor lifetime suggests an order.
ArenaTrace tight_trace(Rng& rng, int count, std::int64_t capacity);

// Teeth that begin one after the other: in each, every row is cut a little later than the one below
// it, so that room appears bit by bit.
ArenaTrace sawtooth_trace(Rng& rng, int count, std::int64_t capacity);

}  // namespace rm::test
