#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options/examples.h"
#include "service/man_page.h"

namespace CLI {
class App;
}

// The manual, the examples and the shell completion, made of the command line's own description, so
// that a new verb or option has them as soon as it exists.
namespace rm {

// ringmaster(1), a page for each verb, ringmaster-ls(1) or ringmaster-data-prepare(1), and
// ringmaster-job(5).
std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version);

// The examples of a command, named by its path: "ringmaster" or "ringmaster data prepare".
std::vector<Example> examples_of(std::string_view path);

enum class Shell { bash, zsh, fish };

// The script for `source <(ringmaster completion bash)`. Completes verbs, options, the values that
// an option's help names ("table|wide|json"), files, and ids of jobs and nodes of the default
// controller while it answers within a second.
std::string completion_script(const CLI::App& app, Shell shell);

// docs/formats/job_file.md of this build; CMake generates the source.
extern const char* const kJobFileDocument;

}  // namespace rm
