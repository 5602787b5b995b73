#pragma once

#include <string>

#include "cli/signals.h"
#include "cli/verb.h"

namespace rm {

// Follows a job until it ends and exits with its result; Ctrl-C detaches, says how to cancel, and
// returns `interrupted`.
Result<ExitCode> follow_job(const std::string& id, Client& client, Signals& signals,
                            VerbContext& context);

// Prints a new job: its id, or the job in the format that the user asked for.
Status print_new_job(const std::string& id, OutputFormat format, Client& client,
                     VerbContext& context);

}  // namespace rm
