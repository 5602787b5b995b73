#pragma once

#include <string>

#include "cli/signals.h"
#include "cli/verb.h"

namespace rm {

// Shows a job to its end and exits as it did; Ctrl-C detaches, says how to cancel, and is
// `interrupted`.
Result<ExitCode> follow_job(const std::string& id, Client& client, Signals& signals,
                            VerbContext& context);

// A job that was just made: its id, or the job as the user asked for it.
Status print_new_job(const std::string& id, OutputFormat format, Client& client,
                     VerbContext& context);

}  // namespace rm
