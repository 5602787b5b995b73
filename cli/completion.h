#pragma once

#include <string>

// Shell completion out of the command line's own description, so that a new verb or option is
// completed as soon as it exists.
namespace CLI {
class App;
}

namespace rm {

enum class Shell { bash, zsh, fish };

// What the shell is to read: `source <(ringmaster completion bash)`. Verbs, options and the values
// an option names in its help ("table|wide|json") are completed; so are files, and ids of jobs and
// nodes of the usual controller while it answers within a second.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace rm
