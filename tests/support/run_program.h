#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "base/check.h"

namespace rm::test {

struct Finished {
    int code = -1;       // -1: ended by a signal
    std::string output;  // both streams
};

// Runs a program through the shell and waits for its end.
inline Finished run_program(const std::string& program, const std::string& arguments) {
    std::FILE* pipe = ::popen((program + " " + arguments + " 2>&1").c_str(), "r");
    RM_CHECK(pipe != nullptr, "cannot start {}", program);
    Finished finished;
    char part[256];
    while (std::fgets(part, sizeof part, pipe) != nullptr)
        finished.output += part;
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) finished.code = WEXITSTATUS(status);
    return finished;
}

}  // namespace rm::test
