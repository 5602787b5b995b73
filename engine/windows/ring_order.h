#pragma once

#include <cstddef>

#include "base/usize.h"

namespace rm {

// The order in which the blocks of all ring slots pass a rank: `outer` rounds of `inner` steps.
// Round o covers the slots of the node o places behind on the outer ring, and its step i the slot i
// places behind on the inner one. Without a double ring, one round covers the whole ring.
struct RingOrder {
    RingOrder() = default;
    // `inner_size` divides `ring`; a double ring needs more than one slot in both rings.
    RingOrder(int ring, int inner_size, int slot);
    // Visits only the first steps and rounds: the others repeat their work (ChunkSample).
    void sample(int most_steps, int most_rounds);

    int num_blocks() const { return inner * outer; }
    bool is_double() const { return outer_size > 1; }
    int round(int block) const { return block / inner; }
    int step(int block) const { return block % inner; }
    std::size_t slot(int block) const;
    // The n-th block of a backward pass. The round of the own node comes last, and in each round
    // the block that starts it.
    int backward(int n) const { return (n / inner + 1) % outer * inner + (n % inner + 1) % inner; }

    int inner_size = 1;  // slots of the inner ring
    int outer_size = 1;
    int inner = 1;  // steps of a round: all, but for a sample
    int outer = 1;  // rounds
    int inner_index = 0;
    int outer_index = 0;
};

}  // namespace rm
