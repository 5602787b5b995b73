#pragma once

#include <string>
#include <vector>

#include "controller/core/state.h"

// What the passing of time alone makes true.
namespace rm {

struct Stall {
    Epoch epoch;
    std::string cause;
    FailureClass kind = FailureClass::stall;
};
struct Vanished {
    Epoch epoch;
    std::string cause;
};

struct DueTimes {
    std::vector<JobId> retries;  // pending jobs whose backoff is over
    // Attempts without progress anywhere that is in sight, while all that is out of sight is on
    // nodes that are unreachable.
    std::vector<Stall> stalls;
    // Attempts that are to stop and of which nothing is left but on unreachable nodes.
    std::vector<Vanished> vanished;
    std::vector<Epoch> lost;    // live attempts of which no worker has spoken for lost_after
    bool hold_changed = false;  // planning begins or ends to be held for a restore
    bool questions = false;     // workers are to be asked about their roots and files

    bool empty() const {
        return retries.empty() && stalls.empty() && vanished.empty() && lost.empty() &&
               !hold_changed && !questions;
    }
};

DueTimes due_times(const State& state, WallTime steady);

}  // namespace rm
