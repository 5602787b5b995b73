#include <sched.h>

#include <algorithm>
#include <thread>

#include "worker/inventory/inventory.h"

namespace rm {

int machine_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    // Fails on machines with more cores than fit a cpu_set_t.
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace rm
