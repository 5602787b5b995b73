#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace rm {

struct ProgramEnd {
    int status = 0;      // as waitpid() has it; 0: it succeeded
    std::string output;  // stdout and stderr
};
// Runs a program of ours that answers a question and ends.
Result<ProgramEnd> run_to_end(const std::vector<std::string>& argv);

}  // namespace rm
