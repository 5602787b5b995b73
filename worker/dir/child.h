#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace rm {

// A child process that does one piece of work and ends.
struct ChildWork {
    std::vector<std::string> argv;  // argv[0] is a path
    std::string log;                // its stdout and stderr, which replace the file
    Seconds limit;                  // it is killed after so long
    // Or when this gives a reason; asked many times a second. Empty: it may go on.
    std::function<std::string()> why_stopped;
};

// Returns when the child has ended. The errors: DEADLINE_EXCEEDED, CANCELLED, or INTERNAL with the
// end of its log when it ended otherwise than with 0.
Status run_child(const ChildWork& work);

}  // namespace rm
