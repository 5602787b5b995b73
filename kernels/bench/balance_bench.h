#pragma once

#include <span>

namespace rm::bench {

// `ring-bench balance`: how evenly attention's work lies on the slots of a ring. Nothing is timed.
// Returns the exit code.
int run_balance(std::span<char*> words);

}  // namespace rm::bench
