#include "spec/session.h"

#include <algorithm>

#include "base/words.h"

namespace rm {

bool set_fitness(std::vector<DeviceInfo>& devices, const DevicesReport& report) {
    bool changed = false;
    for (const auto& [index, unfit, lost] : report.devices) {
        for (DeviceInfo& device : devices) {
            if (device.index != index) continue;
            if (device.unfit == unfit && device.lost == lost) continue;
            device.unfit = unfit;
            device.lost = lost;
            changed = true;
        }
    }
    return changed;
}

std::string profile_driver(const Inventory& inventory, std::string_view kind, Precision precision) {
    if (kind != "cpu") return inventory.software.driver;
    const auto slot = std::find_if(inventory.devices.begin(), inventory.devices.end(),
                                   [](const DeviceInfo& device) { return device.kind == "cpu"; });
    const int threads = slot == inventory.devices.end() ? 0 : slot->num_threads;
    return format("{}, {}, {}", inventory.cpu_model, counted(threads, "thread"),
                  precision == Precision::bf16 ? "bf16" : "fp32");
}

}  // namespace rm
