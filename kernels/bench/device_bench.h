#pragma once

#include <span>

namespace rm::bench {

// `ring-bench device`: measures this machine's device profile, prints it and writes it down; with
// --check also how well it foretells shapes that were not measured. Takes the words after the
// command's name; returns the exit code.
int run_device(std::span<char*> words);

}  // namespace rm::bench
