#pragma once

#include <string>

#include "controller/core/state.h"

namespace rm {

// Metrics of the nodes that are not gone: whether they have a session, and what they cost.
std::string node_metrics(const State& state);

// Metrics of jobs that wait for devices.
std::string queue_metrics(const State& state, WallTime now);

// Metrics of the disk that holds `directory`, the controller's state.
std::string disk_metrics(const std::string& directory);

}  // namespace rm
