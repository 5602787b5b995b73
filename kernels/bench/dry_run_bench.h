#pragma once

#include <span>

namespace rm::bench {

// ring-bench dry-run: how long predictions take, and what they say. Words after the command.
// Returns an exit code.
int run_dry_run(std::span<char*> words);

}  // namespace rm::bench
