#include "worker/agent/launch_files.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

const DeviceInfo& device_of(const Inventory& inventory, int index) {
    const auto found =
        std::find_if(inventory.devices.begin(), inventory.devices.end(),
                     [&](const DeviceInfo& device) { return device.index == index; });
    RM_CHECK(found != inventory.devices.end(), "device {} is not in the inventory", index);
    return *found;
}

}  // namespace

AttemptFile attempt_file_of(const LaunchAttempt& launch, const Inventory& inventory,
                            const OrphanPolicy& orphan, std::vector<std::string> rank_command) {
    return {.epoch = launch.epoch,
            .job = launch.job,
            .ranks = launch.ranks,
            .num_ranks = launch.plan.mesh.num_ranks(),
            .data_address = inventory.data_address,
            .rank_command = std::move(rank_command),
            .orphan = orphan};
}

RankConfig rank_config_of(const LaunchAttempt& launch, const RankLaunch& rank,
                          const Inventory& inventory, const std::string& run_dir) {
    const DeviceInfo& device = device_of(inventory, rank.device);
    return {.spec = launch.spec,
            .plan = launch.plan,
            .epoch = launch.epoch,
            .rank = rank.rank,
            .num_threads = device.num_threads,
            .run_dir = run_dir,
            .checkpoint_dir = launch.checkpoint_dir,
            .peak_flops = device.peak(launch.spec.precision).flops,
            .peak_name = device.peak(launch.spec.precision).name};
}

}  // namespace rm
