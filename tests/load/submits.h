#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace rm::load {

struct SubmitLoad {
    int clients = 64;    // each with a connection of its own
    double rate = 1000;  // submits per second, of all clients together
    Seconds duration{10};
};

struct SubmitReport {
    Seconds elapsed;
    std::vector<double> latencies;             // seconds from when each was due, sorted
    std::map<std::string, std::string> acked;  // request id -> job id
    std::map<std::string, int> errors;         // by message
    double percentile(double fraction) const;
};

// Submits are due at fixed times even while earlier ones are unanswered: a stalled controller is
// charged for everything that waits. The connections are open before the first is due.
SubmitReport run_submits(const std::string& address, const SubmitLoad& load);

}  // namespace rm::load
