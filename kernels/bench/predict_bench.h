#pragma once

#include <span>

namespace rm::bench {

// `ring-bench predict`: how well the dry run foretells steps on the machine that runs it. Takes the
// words after the command's name; returns the exit code.
int run_predict(std::span<char*> words);

}  // namespace rm::bench
