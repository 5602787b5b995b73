#pragma once

#include <span>
#include <string>
#include <string_view>

// Calls of a program that show what it is for. One table of them is both the end of --help and the
// section EXAMPLES of its page of the manual.
namespace rm {

struct Example {
    std::string_view command;  // "ringmaster ls -a"
    std::string_view what;     // "ended jobs too"
};

// "Examples:" and a line for each, for CLI11's footer(); empty when there are none.
std::string examples_text(std::span<const Example> examples);

}  // namespace rm
