#pragma once

#include <string>
#include <vector>

#include "controller/core/state.h"

// Conditions that become true as time passes.
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
    // Attempts in which no visible rank makes progress and all others are on unreachable nodes.
    std::vector<Stall> stalls;
    // Stopping attempts with processes left only on unreachable nodes.
    std::vector<Vanished> vanished;
    std::vector<Epoch> lost;    // live attempts that no worker reported for lost_after
    bool hold_changed = false;  // planning starts or stops waiting for a restore
    bool questions = false;     // questions about roots and files are due

    bool empty() const {
        return retries.empty() && stalls.empty() && vanished.empty() && lost.empty() &&
               !hold_changed && !questions;
    }
};

DueTimes due_times(const State& state, WallTime steady);

}  // namespace rm
