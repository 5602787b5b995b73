#include "worker/agent/launch_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/check.h"
#include "engine/train/rank_config.h"

namespace rm {
namespace {

using nlohmann::json;

const DeviceInfo& device_of(const Inventory& inventory, int index) {
    const auto found =
        std::find_if(inventory.devices.begin(), inventory.devices.end(),
                     [&](const DeviceInfo& device) { return device.index == index; });
    RM_CHECK(found != inventory.devices.end(), "device {} is not in the inventory", index);
    return *found;
}

RankDevice rank_device_of(const DeviceInfo& device) {
    if (device.kind == "cpu") return {};
    const bool emulated = device.kind == to_string(DeviceLibrary::emu);
    if (emulated) return {DeviceLibrary::emu, device.index};
    return {DeviceLibrary::cuda, 0};  // the only one that it sees
}

}  // namespace

std::string to_json(const LaunchAttempt& launch) {
    json ranks = json::array();
    for (const RankLaunch& rank : launch.ranks) {
        ranks.push_back({{"rank", rank.rank}, {"device", rank.device}});
    }
    const json value = {{"epoch", launch.epoch.value},
                        {"job", launch.job.value},
                        {"spec", job_spec_to_json(launch.spec)},
                        {"plan", plan_to_json(launch.plan)},
                        {"ranks", std::move(ranks)},
                        {"checkpoint_dir", launch.checkpoint_dir},
                        {"owner", launch.owner},
                        {"yaml", launch.yaml},
                        {"data_address", launch.data_address}};
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<LaunchAttempt> parse_launch(std::string_view text) {
    try {
        const json value = json::parse(text);
        LaunchAttempt launch{.epoch = {value.at("epoch").get<std::int64_t>()},
                             .job = {value.at("job").get<std::string>()},
                             .checkpoint_dir = value.at("checkpoint_dir").get<std::string>(),
                             .owner = value.at("owner").get<std::string>(),
                             .yaml = value.at("yaml").get<std::string>(),
                             // Not there before workers had several.
                             .data_address = value.value("data_address", "")};
        RM_TRY(launch.spec, job_spec_from_json(value.at("spec")));
        RM_TRY(launch.plan, plan_from_json(value.at("plan")));
        for (const json& rank : value.at("ranks")) {
            launch.ranks.push_back({rank.at("rank").get<int>(), rank.at("device").get<int>()});
        }
        return launch;
    } catch (const json::exception& error) {
        return make_error(ErrorCode::data_loss, "launch.json cannot be read: {}", error.what());
    }
}

AttemptFile attempt_file_of(const LaunchAttempt& launch, const Inventory& inventory,
                            const RankTerms& terms) {
    return {
        .epoch = launch.epoch,
        .job = launch.job,
        .ranks = launch.ranks,
        .num_ranks = launch.plan.mesh.num_ranks(),
        .data_address = launch.data_address.empty() ? inventory.data_address : launch.data_address,
        .rank_command = terms.command,
        .orphan = terms.orphan,
        .ports = terms.ports};
}

RankConfig rank_config_of(const LaunchAttempt& launch, const RankLaunch& rank,
                          const Inventory& inventory, const RankTerms& terms,
                          const std::string& run_dir) {
    const DeviceInfo& device = device_of(inventory, rank.device);
    const auto profile = terms.profiles.find(device.kind);
    const Peak& peak = device.peak(precision_of(launch.spec.precision));
    return {.spec = launch.spec,
            .plan = launch.plan,
            .epoch = launch.epoch,
            .rank = rank.rank,
            .device = rank_device_of(device),
            .device_uuid = device.gpu.uuid,
            .numa_node = device.gpu.numa_node,
            .device_profile = profile == terms.profiles.end() ? "" : profile->second,
            .device_memory = device.memory,
            .num_threads = device.num_threads,
            .host_memory = terms.memory,
            .run_dir = run_dir,
            .checkpoint_dir = launch.checkpoint_dir,
            .peak_flops = peak.flops,
            .peak_name = peak.name};
}

}  // namespace rm
