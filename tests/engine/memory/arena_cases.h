#pragma once

#include "base/random.h"
#include "engine/memory/arena_trace.h"

// Traces for tests.
namespace rm::test {

// `count` blocks in `horizon` moments, sizes of 1 to `max_size` units.
ArenaTrace random_trace(Rng& rng, int count, int horizon, std::int64_t max_size);

// A training step. Each layer's forward keeps its input and attention output for its backward and
// has some buffers of its own; the loss runs over chunks of the vocabulary; each layer's backward
// has its own gradients and passes one down. Sizes are multiples of 512. The buffers of one
// direction of a layer form a group.
struct StepShape {
    int num_layers = 16;
    std::int64_t tokens = 4096;
    std::int64_t hidden = 1024;
};
ArenaTrace step_trace(const StepShape& shape);

// The engine's passes in windows: each layer's forward begins before the previous one has released
// its buffers. 31 blocks a layer.
ArenaTrace layers_in_windows(int num_layers);

// Exactly `capacity` bytes are live at each of `num_moments` moments: after each moment some blocks
// end, and others take their bytes. Some of these traces have no plan at their live bytes.
ArenaTrace full_trace(Rng& rng, std::int64_t num_moments, std::int64_t capacity);

// Twelve blocks with six bytes live at any moment, yet without a plan in six bytes.
ArenaTrace entangled_trace();

// Finds the least peak by trying every offset of every block; for a dozen blocks of a few bytes.
Bytes least_peak_of_all_plans(const ArenaTrace& trace);

}  // namespace rm::test
