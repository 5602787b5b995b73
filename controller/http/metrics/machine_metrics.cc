#include "controller/http/metrics/machine_metrics.h"

#include <algorithm>

#include "service/http/metrics.h"

namespace rm {

std::string machine_metrics(const MachinesView& view) {
    if (view.provider.empty()) return "";
    prometheus::Registry registry;
    auto& machines = gauge_family(registry, "ringmaster_machines",
                                  "Machines of the controller's provider, by what the controller "
                                  "makes of them.");
    for (const auto& word : vocabulary_of(Standing()).words) {
        const auto count =
            std::count_if(view.rows.begin(), view.rows.end(),
                          [&word](const MachineRow& row) { return row.standing == word.first; });
        machines.Add({{"state", std::string(word.second)}}).Set(static_cast<double>(count));
    }
    return expose(registry);
}

}  // namespace rm
