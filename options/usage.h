#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

// How every program of the project answers --help, --version and an invalid command line: with one
// wording and one set of exit codes instead of the parser's.
namespace rm {

constexpr int kExitUsage = 2;

// A word of another tool and the command that does the same here.
struct Synonym {
    std::string_view word;
    std::string_view command;  // "ls", "nodes", "data prepare"
};

struct UsageEnd {
    int code = 0;     // 0 or kExitUsage
    std::string out;  // help, version
    std::string err;  // "PROGRAM: what is wrong", and where to read on
};

// The text to print for an exception of app.parse(). `app` is as the parser left it.
UsageEnd usage_end(const CLI::App& app, const CLI::ParseError& error,
                   std::span<const Synonym> synonyms = {});
// usage_end() printed; the exit code.
int exit_usage(const CLI::App& app, const CLI::ParseError& error);

// A main(): reads the command line, calls `run` and returns its exit code. Prints what is wrong
// with the line, and an exception of `run`, which exits with 1.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& run);

}  // namespace rm
