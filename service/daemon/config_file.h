#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace rm {

// Lets a daemon read its options from a file, too (docs/operations.md): adds --config FILE and
// --print-config. The file is a YAML map. A key is the name of a long option without its hyphens; a
// value is a text, true or false for a flag, or a list where the option may be given several times.
// An option on the command line replaces the file's. Options with configurable(false) are no keys.
// app.parse() throws CLI::FileError with all faults of the file, each a line that begins with
// "file:line:column: ". `app` keeps its address until then.
void add_config_options(CLI::App& app);

// After app.parse(): all keys that have a value, as a file that --config reads; nothing without
// --print-config.
std::optional<std::string> config_to_print(const CLI::App& app);

}  // namespace rm
