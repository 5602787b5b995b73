#pragma once

#include <memory>
#include <string>

#include "worker/daemon/worker_options.h"
#include "worker/inventory/gpu_watch.h"

namespace rm {

// A worker's offer, as its machine has it.
struct Offered {
    Inventory inventory;                      // without its http_address
    std::vector<DataAddress> data_addresses;  // the inventory's first
    Bytes memory_of_rank;            // of the host: each slot of the machine has an equal part
    std::unique_ptr<GpuWatch> gpus;  // null: none are offered
    std::string unused;              // why GPUs that are there are not offered; empty: none are
};
// `unavailable`: GPUs are asked for and cannot be offered.
Result<Offered> find_offered(const WorkerOptions& options);

}  // namespace rm
