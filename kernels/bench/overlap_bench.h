#pragma once

#include <span>

namespace rm::bench {

// How much of a delay on every link the schedule leaves exposed: hops of the ring, weights gathered
// at ZeRO stage 3. Takes the words after the command's name; returns the program's exit status.
int run_overlap(std::span<char*> words);

}  // namespace rm::bench
