#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options/examples.h"
#include "service/man_page.h"

namespace CLI {
class App;
}

// Derives the manual, the examples and the shell completion from the command line's own
// description, so a new verb or option has them as soon as it exists.
namespace rm {

// ringmaster(1), a page for each verb, ringmaster-ls(1) or ringmaster-data-prepare(1), and
// ringmaster-job(5).
std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version);

// The examples of a command, named by its path: "ringmaster" or "ringmaster data prepare".
std::vector<Example> examples_of(std::string_view path);

// The script for `source <(ringmaster completion bash)`, or for zsh or fish. Calls
// `ringmaster __complete WORDS`, and offers nothing if that takes longer than a second.
std::string completion_script(std::string_view shell);

// The candidates for one word of a command line.
struct Completion {
    std::string lines;                 // "WORD\n" or "WORD\tHELP\n" each; kFiles: any path
    std::vector<std::string> command;  // if not empty: its output is the lines
    static constexpr std::string_view kFiles = ":files";
};

// Completes the last of `words`, the words after the program's name: verbs, options, the values
// that an option's help names ("table|wide|json"), paths, and the ids of jobs and nodes of the
// cluster that the line names. At least one word, which may be empty.
Completion complete(const CLI::App& app, std::span<const std::string> words);

// docs/formats/job_file.md of this build; CMake generates the source.
extern const char* const kJobFileDocument;

}  // namespace rm
