#pragma once

#include <string>

// Shell completion out of the command line's own description, so that a new verb or option is
// completed as soon as it exists.
namespace CLI {
class App;
}

namespace rm {

enum class Shell { bash, zsh, fish };

// The script for `source <(ringmaster completion bash)`. Completes verbs, options, the values that
// an option's help names ("table|wide|json"), files, and ids of jobs and nodes of the default
// controller while it answers within a second.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace rm
