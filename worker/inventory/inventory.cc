#include "worker/inventory/inventory.h"

namespace rm {

Inventory take_inventory(int num_devices, const MachineShare& share) {
    return {.hostname = machine_hostname(),
            .os = machine_os(),
            .cpu_model = machine_cpu_model(),
            .num_cores = share.num_cores,
            .memory = share.memory,
            .devices = cpu_devices(num_devices, share)};
}

}  // namespace rm
