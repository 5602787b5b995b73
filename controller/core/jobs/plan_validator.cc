#include <algorithm>
#include <set>

#include "controller/core/jobs/make_snapshot.h"
#include "controller/core/jobs/retry.h"
#include "controller/core/roots/job_files.h"

namespace rm {
namespace {

template <typename T>
Status check_same(std::string_view what, const T& planned, const T& asked) {
    if (planned == asked) return {};
    return invalid_argument("{} {}, the job asks for {}", what, planned, asked);
}

// A job that leaves its mesh to the plan names the least stage.
Status check_zero_of(const JobSpec& spec, int planned) {
    if (spec.parallel || planned < spec.zero || planned > 3)
        return check_same("the ZeRO stage is", planned, spec.zero);
    return {};
}

Status check_mesh_of(const JobSpec& spec, const Plan& plan) {
    if (spec.parallel) {
        RM_RETURN_IF_ERROR(
            check_same("the mesh is", to_string(plan.mesh), to_string(*spec.parallel)));
    }
    RM_RETURN_IF_ERROR(check_zero_of(spec, plan.zero));
    JobSpec meshed = spec;
    meshed.parallel = plan.mesh;
    return validate(meshed);
}

Status check_tokens_of(const MemorySpec& asked, const MemoryPolicy& memory) {
    const std::int64_t tile = memory.tile_tokens;
    const std::int64_t chunk = memory.chunk_tokens;
    if (asked.tile != 0 && tile != asked.tile) {
        return invalid_argument("the tile is {} tokens, the job asks for {}", tile, asked.tile);
    }
    if (chunk <= 0 || chunk % tile != 0) {
        return invalid_argument("the chunk is {} tokens; it must be a multiple of the tile {}",
                                chunk, tile);
    }
    if (asked.chunk != 0 && chunk != asked.chunk) {
        return invalid_argument("the chunk is {} tokens, the job asks for {}", chunk, asked.chunk);
    }
    return {};
}

// The plan must follow the choices that the job states; the rest is up to the plan.
Status check_choices_of(const MemorySpec& asked, const MemoryPolicy& memory) {
    const MemoryPolicy wanted = resolve_memory(asked);
    if (asked.keep) {
        RM_RETURN_IF_ERROR(
            check_same("what is kept is", to_string(memory.keep), to_string(wanted.keep)));
    }
    if (asked.alpha) RM_RETURN_IF_ERROR(check_same("alpha is", memory.alpha, wanted.alpha));
    if (asked.offload != Switch::automatic || asked.windows == Switch::on) {
        RM_RETURN_IF_ERROR(check_same("the place of what is kept is the", to_string(memory.kept),
                                      to_string(wanted.kept)));
    }
    if (asked.windows != Switch::automatic) {
        RM_RETURN_IF_ERROR(
            check_same("the working set is", to_string(memory.working), to_string(wanted.working)));
    }
    if (asked.keep_every > 0) {
        RM_RETURN_IF_ERROR(
            check_same("inputs are kept every", memory.keep_every, wanted.keep_every));
    }
    RM_RETURN_IF_ERROR(check_same("the precision of what is kept is",
                                  to_string(memory.keep_precision),
                                  to_string(wanted.keep_precision)));
    RM_RETURN_IF_ERROR(check_same("the prefetch is", memory.prefetch, wanted.prefetch));
    RM_RETURN_IF_ERROR(
        check_same("the arena is", to_string(memory.reuse), to_string(wanted.reuse)));
    RM_RETURN_IF_ERROR(check_same("the device's limit is", memory.device, wanted.device));
    return check_same("the host's limit is", memory.host, wanted.host);
}

// Holds the plan's own choices to the rules for a job's.
Status check_plan_of(const Plan& plan) {
    const MemoryPolicy& memory = plan.memory;
    const bool windows = memory.working == WorkingSet::windows;
    const bool host = memory.kept == KeptPlace::host;
    return check_memory({.tile = memory.tile_tokens,
                         .chunk = memory.chunk_tokens,
                         .alpha = memory.alpha,
                         .offload = host ? Switch::on : Switch::off,
                         .windows = windows ? Switch::on : Switch::off,
                         .keep_every = memory.keep_every,
                         .prefetch = memory.prefetch});
}

Status check_network_of(const JobSpec& spec, const Plan& plan, const std::string& nccl) {
    if (spec.network) {
        RM_RETURN_IF_ERROR(
            check_same("the network is", to_string(plan.network), to_string(*spec.network)));
    }
    if (plan.network != NetworkKind::nccl || !nccl.empty()) return {};
    return invalid_argument("the network is nccl, which its nodes do not have");
}

Status check_memory_of(const JobSpec& spec, const Plan& plan) {
    RM_RETURN_IF_ERROR(check_tokens_of(spec.memory, plan.memory));
    RM_RETURN_IF_ERROR(check_choices_of(spec.memory, plan.memory));
    RM_RETURN_IF_ERROR(check_plan_of(plan));
    if (!(plan.collective_timeout.value > 0)) {
        return invalid_argument("the collective timeout is {}", plan.collective_timeout);
    }
    return {};
}

struct Common {
    std::string kind;
    std::string build;
    std::string nccl;  // version
};

Status check_device(const State& state, const std::map<DeviceId, Holder>& holders,
                    const DeviceId& id, Common& common) {
    const Node* node = find_node(state, id.node);
    const DeviceInfo* device = node == nullptr ? nullptr : find_device(*node, id.index);
    if (device == nullptr) return invalid_argument("device {} does not exist", id);
    if (!node->session.up) return invalid_argument("node {} has no session", id.node);
    if (!node->drained.empty()) {
        return invalid_argument("node {} is drained: {}", id.node, node->drained);
    }
    if (const auto holder = holders.find(id); holder != holders.end()) {
        return invalid_argument("device {} is held by attempt {} of job {}", id,
                                holder->second.epoch, holder->second.job);
    }
    const std::string& nccl = node->inventory.software.nccl;
    if (common.kind.empty()) common = {device->kind, node->build, nccl};
    if (device->kind != common.kind) {
        return invalid_argument("device {} is a {}, others are {}", id, device->kind, common.kind);
    }
    if (node->build != common.build) {
        return invalid_argument("node {} runs build {}, others {}", id.node, node->build,
                                common.build);
    }
    if (!device->unfit.empty())
        return invalid_argument("device {} is unfit: {}", id, device->unfit);
    if (nccl != common.nccl) {
        return invalid_argument("node {} has NCCL '{}', others '{}'", id.node, nccl, common.nccl);
    }
    return {};
}

// Checks that the nodes have the same files of the job and that ranks can reach each other.
Status check_files_of(const State& state, const Job& job, const Plan& plan, WallTime now) {
    if (!nodes_differ(state)) return {};
    const FilesNeed need = files_needed(state, job);
    std::set<std::string> places;
    for (const DeviceId& device : plan.placement) {
        const NodeFiles files = files_on(need, *find_node(state, device.node), now);
        if (!files.against.empty()) {
            return invalid_argument("node {}: {}", device.node, to_string(files.against));
        }
        if (!files.waits.empty()) {
            return invalid_argument("node {} has not said {}", device.node, files.waits);
        }
        places.insert(files.place);
    }
    if (places.size() < 2) return {};
    return invalid_argument(
        "its nodes do not have the same files and checkpoint directory, or cannot reach each "
        "other");
}

Status check_time_of(const State& state, const Job& job, WallTime now) {
    if (const Reason hold = hold_reason(state, now); !hold.empty()) {
        return invalid_argument("{}", to_string(hold));
    }
    if (backs_off(job, now)) {
        return invalid_argument("the next attempt comes in {}", job.retry_at - now);
    }
    return {};
}

}  // namespace

Status validate_plan(const State& state, const Job& job, const Plan& plan, WallTime now) {
    const JobSpec& spec = job.spec;
    RM_RETURN_IF_ERROR(check_time_of(state, job, now));
    RM_RETURN_IF_ERROR(check_mesh_of(spec, plan));
    RM_RETURN_IF_ERROR(check_memory_of(spec, plan));
    const int ranks = plan.mesh.num_ranks();
    if (static_cast<int>(plan.placement.size()) != ranks) {
        return invalid_argument("{} devices are placed for the {} ranks of the mesh",
                                plan.placement.size(), ranks);
    }
    const std::vector<DeviceId>& asked = spec.resources.placement;
    if (!asked.empty() && plan.placement != asked) {
        return invalid_argument("the devices are not those that resources.placement names");
    }
    const auto holders = device_holders(state);
    Common common;
    std::set<DeviceId> seen;
    for (const DeviceId& device : plan.placement) {
        if (!seen.insert(device).second) {
            return invalid_argument("device {} is placed twice", device);
        }
        if (std::find(job.excluded.begin(), job.excluded.end(), device) != job.excluded.end()) {
            return invalid_argument("device {} is excluded: it failed under this job", device);
        }
        RM_RETURN_IF_ERROR(check_device(state, holders, device, common));
    }
    RM_RETURN_IF_ERROR(check_files_of(state, job, plan, now));
    RM_RETURN_IF_ERROR(check_network_of(spec, plan, common.nccl));
    if (spec.resources.kind.empty()) return {};
    return check_same("the devices are", common.kind, spec.resources.kind);
}

}  // namespace rm
