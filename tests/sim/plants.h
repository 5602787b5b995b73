#pragma once

#include <optional>
#include <string>
#include <vector>

// Bugs planted in the harness around the product's cores; the simulation must find them.
namespace rm::sim {

enum class Plant {
    none,
    reply_before_commit,    // a client hears of a change that may never become durable
    effects_before_commit,  // a worker does
    device_freed_early,     // one exited rank counts as the end of all processes of its attempt
    epoch_not_raised,       // a restore issues epochs again
    worker_forgets_epoch,   // a restarted daemon does not know the highest epoch it has seen
    launch_without_waiting  // a launch starts beside the older shim on its device
};

std::vector<std::string> plant_names();  // without none
std::optional<Plant> parse_plant(const std::string& name);

}  // namespace rm::sim
