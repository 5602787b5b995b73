#pragma once

#include <string>
#include <variant>

#include "cli/exit_code.h"
#include "cli/options.h"

namespace rm {

// What there is to print instead of running a verb: help on stdout, or what was wrong on stderr.
struct CommandLineEnd {
    ExitCode code = ExitCode::ok;
    std::string out;
    std::string err;
};

std::variant<CommandLine, CommandLineEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace rm
