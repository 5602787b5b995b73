#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cli/client/target.h"
#include "cli/screen/console.h"
#include "cli/verb.h"
#include "service/man_page.h"

namespace rm {

struct CommandLine {
    TargetFlags target;
    std::unique_ptr<Command> command;
};

// The output instead of running a verb: help on stdout, or an error on stderr.
struct CommandLineEnd {
    ExitCode code = ExitCode::ok;
    std::string out;
    std::string err;
};

std::variant<CommandLine, CommandLineEnd> parse_command_line(int argc, const char* const* argv);

// The manual pages that describe this command line.
std::vector<ManPage> command_line_pages();

}  // namespace rm
