#pragma once

#include <span>

namespace rm::bench {

// `ring-bench placement`: the placement solver on large planted problems, whose hidden answer has a
// known cost. Returns the exit code; 1 if an answer is worse than promised.
int run_placement(std::span<char*> words);

}  // namespace rm::bench
