#include "tests/sim/plants.h"

#include <algorithm>

namespace rm::sim {

std::vector<std::string> plant_names() {
    return {"reply_before_commit", "effects_before_commit", "device_freed_early",
            "epoch_not_raised",    "worker_forgets_epoch",  "launch_without_waiting"};
}

std::optional<Plant> parse_plant(const std::string& name) {
    if (name == "none") return Plant::none;
    const std::vector<std::string> names = plant_names();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return std::nullopt;
    return static_cast<Plant>(at - names.begin() + 1);
}

}  // namespace rm::sim
