#pragma once

#include "base/random.h"
#include "engine/memory/arena_trace.h"

// Traces for tests.
namespace rm::test {

// `count` blocks in `horizon` moments, sizes of 1 to `max_size` units.
ArenaTrace random_trace(Rng& rng, int count, int horizon, std::int64_t max_size);

// A training step: each layer's forward leaves its input and attention output for its backward and
// has some buffers of its own, the loss in between goes over chunks of the vocabulary, each layer's
// backward has gradients of its own and hands one down. Sizes are multiples of 512. Groups are the
// buffers of one layer's one direction.
struct StepShape {
    int num_layers = 16;
    std::int64_t tokens = 4096;
    std::int64_t hidden = 1024;
};
ArenaTrace step_trace(const StepShape& shape);

// The engine's passes in windows: the forward of each layer begins before that of the last has
// released its buffers. 31 blocks a layer.
ArenaTrace layers_in_windows(int num_layers);

// Exactly `capacity` bytes live at any of `num_moments` moments: after each some blocks end, and
// others take their bytes. Some of these traces have no plan at their live bytes.
ArenaTrace full_trace(Rng& rng, std::int64_t num_moments, std::int64_t capacity);

// Twelve blocks, six bytes live at any moment, and no plan in six bytes.
ArenaTrace entangled_trace();

// The least peak, by trying every offset of every block. For a dozen blocks of a few bytes.
Bytes least_peak_of_all_plans(const ArenaTrace& trace);

}  // namespace rm::test
