#pragma once

#include "base/result.h"

namespace rm {

// The exit codes of the process; the table is in docs/cli.md.
enum class ExitCode {
    ok = 0,
    error = 1,
    usage = 2,
    not_found = 3,
    rejected = 4,  // infeasible, or the controller said no
    job_failed = 5,
    timed_out = 6,
    denied = 7,
    interrupted = 130,
};

ExitCode exit_code_of(const Error& error);

}  // namespace rm
