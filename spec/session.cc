#include "spec/session.h"

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

}  // namespace rm
