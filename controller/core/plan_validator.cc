#include "controller/core/plan_validator.h"

#include <set>

namespace rm {
namespace {

Status check_mesh_of(const JobSpec& spec, const Plan& plan) {
    if (spec.parallel && plan.mesh != *spec.parallel) {
        return invalid_argument("the mesh is {}, the job asks for {}", to_string(plan.mesh),
                                to_string(*spec.parallel));
    }
    if (plan.zero != spec.zero) {
        return invalid_argument("the ZeRO stage is {}, the job asks for {}", plan.zero, spec.zero);
    }
    JobSpec meshed = spec;
    meshed.parallel = plan.mesh;
    return validate(meshed);
}

Status check_memory_of(const JobSpec& spec, const Plan& plan) {
    const std::int64_t tile = plan.memory.tile_tokens;
    const std::int64_t chunk = plan.memory.chunk_tokens;
    if (tile != spec.memory.tile) {
        return invalid_argument("the tile is {} tokens, the job asks for {}", tile,
                                spec.memory.tile);
    }
    if (chunk <= 0 || chunk % tile != 0) {
        return invalid_argument("the chunk is {} tokens; it must be a multiple of the tile {}",
                                chunk, tile);
    }
    if (spec.memory.chunk != 0 && chunk != spec.memory.chunk) {
        return invalid_argument("the chunk is {} tokens, the job asks for {}", chunk,
                                spec.memory.chunk);
    }
    if (!(plan.collective_timeout.value > 0)) {
        return invalid_argument("the collective timeout is {}", plan.collective_timeout);
    }
    return {};
}

const DeviceInfo* find_device(const Node& node, int index) {
    for (const DeviceInfo& device : node.inventory.devices) {
        if (device.index == index) return &device;
    }
    return nullptr;
}

struct Common {
    std::string kind;
    std::string build;
};

Status check_device(const State& state, const std::map<DeviceId, Holder>& holders,
                    const DeviceId& id, Common& common) {
    const Node* node = find_node(state, id.node);
    const DeviceInfo* device = node == nullptr ? nullptr : find_device(*node, id.index);
    if (device == nullptr) return invalid_argument("device {} does not exist", id);
    if (!node->session.up) return invalid_argument("node {} has no session", id.node);
    if (const auto holder = holders.find(id); holder != holders.end()) {
        return invalid_argument("device {} is held by attempt {} of job {}", id,
                                holder->second.epoch, holder->second.job);
    }
    if (common.kind.empty()) common = {device->kind, node->build};
    if (device->kind != common.kind) {
        return invalid_argument("device {} is a {}, others are {}", id, device->kind, common.kind);
    }
    if (node->build != common.build) {
        return invalid_argument("node {} runs build {}, others {}", id.node, node->build,
                                common.build);
    }
    return {};
}

}  // namespace

Status validate_plan(const State& state, const JobSpec& spec, const Plan& plan) {
    RM_RETURN_IF_ERROR(check_mesh_of(spec, plan));
    RM_RETURN_IF_ERROR(check_memory_of(spec, plan));
    const int ranks = plan.mesh.num_ranks();
    if (static_cast<int>(plan.placement.size()) != ranks) {
        return invalid_argument("{} devices are placed for the {} ranks of the mesh",
                                plan.placement.size(), ranks);
    }
    const auto holders = device_holders(state);
    Common common;
    std::set<DeviceId> seen;
    for (const DeviceId& device : plan.placement) {
        if (!seen.insert(device).second) {
            return invalid_argument("device {} is placed twice", device);
        }
        RM_RETURN_IF_ERROR(check_device(state, holders, device, common));
    }
    if (!spec.resources.kind.empty() && spec.resources.kind != common.kind) {
        return invalid_argument("the devices are {}, the job asks for {}", common.kind,
                                spec.resources.kind);
    }
    return {};
}

}  // namespace rm
