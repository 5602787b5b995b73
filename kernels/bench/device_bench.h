#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rm::bench {

// A profile's provenance: measured by this command, here and today.
std::string measured_by(std::string_view command);

// `ring-bench device`: measures this machine's device profile, prints it and writes it down; with
// --check also how well it foretells shapes that were not measured. Takes the words after the
// command's name; returns the exit code.
int run_device(std::span<char*> words);

}  // namespace rm::bench
