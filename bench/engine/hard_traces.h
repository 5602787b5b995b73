#pragma once

#include <string_view>

#include "base/random.h"
#include "base/words.h"
#include "engine/memory/arena_trace.h"

// Traces that are hard to place and have a plan that is known: they are cut out of an arena of
// a number of bytes that is full at one moment at least, so no plan has a lower peak. For tests and
// `ring-bench arena --hard`.
namespace rm {

enum class HardTrace {
    guillotine,  // cut in two through the whole length or height, then each part again
    tight,       // the same into parts that differ little: neither size nor life suggests an order
    pinwheel,    // cut as above or into five around a middle, which no cut right through separates
    sawtooth,    // rows of teeth that end one after the other, so that room appears bit by bit
    refilled,    // an allocator's: blocks end here and there, and others fill their room at once
    full_step,   // a training step: what the forward pass keeps is nested, work fills all the rest
    gapped,      // guillotine; some parts are a little smaller or live a little shorter
    thinned,     // tight; one part in twelve is missing
    step,        // full_step; work fills the room only near the end of the forward pass
};
constexpr HardTrace kHardTraces[] = {
    HardTrace::guillotine, HardTrace::tight,    HardTrace::pinwheel,
    HardTrace::sawtooth,   HardTrace::refilled, HardTrace::full_step,
    HardTrace::gapped,     HardTrace::thinned,  HardTrace::step};
constexpr auto vocabulary_of(HardTrace) {
    return vocabulary<HardTrace>("hard trace", {{HardTrace::guillotine, "guillotine"},
                                                {HardTrace::tight, "tight"},
                                                {HardTrace::pinwheel, "pinwheel"},
                                                {HardTrace::sawtooth, "sawtooth"},
                                                {HardTrace::refilled, "refilled"},
                                                {HardTrace::full_step, "full step"},
                                                {HardTrace::gapped, "gapped"},
                                                {HardTrace::thinned, "thinned"},
                                                {HardTrace::step, "step"}});
}

struct HardCase {
    HardTrace kind = HardTrace::guillotine;
    std::uint64_t seed = 0;
    int count = 0;  // of blocks, about
};
// The kinds in turn, with 150 to 500 blocks.
HardCase hard_case(std::uint64_t seed);

// The bytes of the arena and the moments of its life, 1,024 each at least. The fewer there are, the
// more cuts fall on the same moment, and the more sizes agree by chance.
struct HardArena {
    Bytes capacity{std::int64_t{1} << 20};
    std::int64_t moments = std::int64_t{1} << 20;
};

// Blocks in a random order.
ArenaTrace hard_trace(const HardCase& hard, const HardArena& arena = {});

}  // namespace rm
