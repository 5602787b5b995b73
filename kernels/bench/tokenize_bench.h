#pragma once

#include <span>

namespace rm::bench {

// `ring-bench tokenize`: how fast text becomes tokens. Returns the exit code.
int run_tokenize(std::span<char*> words);

}  // namespace rm::bench
