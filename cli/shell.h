#pragma once

#include <string>
#include <vector>

#include "base/result.h"

// Other programs, run by the shell.
namespace rm {

// A word of the shell that means `text`.
std::string shell_word(const std::string& text);

struct ProgramEnd {
    int status = 0;      // as waitpid() has it; 0: it succeeded
    std::string output;  // stdout and stderr
};
// Runs a program that answers a question and ends.
Result<ProgramEnd> run_to_end(const std::vector<std::string>& argv);

// Runs a command line and returns what it printed on stdout; its stderr is this program's.
// INTERNAL with its exit status.
Result<std::string> output_of(const std::string& command);

// Where PATH has the program; empty: nowhere.
std::string find_in_path(const std::string& program, const std::string& path);

}  // namespace rm
