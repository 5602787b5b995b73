#include "planner/pools.h"

#include <algorithm>
#include <set>

#include "spec/machine/device_kind.h"

namespace rm {
namespace {

PlanningFiles::Place files_at(const PlanningFiles& files, const NodeId& node) {
    const auto found = files.nodes.find(node);
    return found == files.nodes.end() ? PlanningFiles::Place{} : found->second;
}

bool contains(const std::vector<DeviceId>& devices, const DeviceId& device) {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace

int Pool::num_unfit() const {
    int count = 0;
    for (const auto& [reason, devices] : unfit)
        count += devices;
    return count;
}

NetworkKind network_for(const JobSpec& spec, const PlanningDevice& device, int num_ranks) {
    if (spec.network) return *spec.network;
    return is_gpu_product(device.kind) && !device.nccl.empty() && num_ranks > 1 ? NetworkKind::nccl
                                                                                : NetworkKind::gloo;
}

const PlanningFiles& files_of(const PlanningSnapshot& snapshot, const PlanningJob& job) {
    static const PlanningFiles kNothing;
    return job.files < 0 ? kNothing : snapshot.files[usize(job.files)];
}

std::vector<Pool> make_pools(const PlanningSnapshot& snapshot, const PlanningJob& job,
                             const Claims& claims) {
    const std::set<DeviceId> excluded(job.excluded.begin(), job.excluded.end());
    const std::vector<DeviceId>& wanted = job.spec.resources.placement;
    std::map<std::pair<PoolKey, std::string>, Pool> pools;  // by where the job's files are, too
    for (const PlanningDevice& device : snapshot.devices) {
        if (!wanted.empty() && !contains(wanted, device.id)) continue;
        const PlanningFiles::Place files = files_at(files_of(snapshot, job), device.id.node);
        Pool& pool = pools[{{device.kind, device.build, device.nccl}, files.place}];
        pool.kind = device.kind;
        pool.build = device.build;
        pool.nccl = device.nccl;
        ++pool.total;
        if (excluded.contains(device.id)) {
            ++pool.excluded;
        } else if (!files.against.empty()) {
            ++pool.without_files;
        } else if (const auto taker = claims.taken.find(device.id); taker != claims.taken.end()) {
            ++pool.busy[taker->second];
        } else if (device.availability == Availability::busy) {
            ++pool.busy[device.held_by];
        } else if (device.availability == Availability::unreachable) {
            ++pool.unreachable;
        } else if (device.availability == Availability::missing) {
            ++pool.missing;
        } else if (device.availability == Availability::drained) {
            ++pool.drained;
        } else if (device.availability == Availability::unfit) {
            ++pool.unfit[device.held_by];
        } else if (const auto keeper = claims.kept.find(device.id); keeper != claims.kept.end()) {
            ++pool.kept;
            pool.kept_for = keeper->second;
        } else {
            pool.free.push_back(&device);
        }
    }
    std::map<PoolKey, int> mendable;
    for (const auto& [key, pool] : pools)
        mendable[key.first] += pool.mendable();
    std::vector<Pool> list;
    for (auto& [key, pool] : pools) {
        pool.elsewhere = mendable.at(key.first) - pool.mendable();
        list.push_back(std::move(pool));
    }
    return list;
}

std::vector<const Pool*> candidates_for(const JobSpec& spec, const std::vector<Pool>& pools) {
    std::vector<const Pool*> candidates;
    for (const Pool& pool : pools) {
        const bool of_kind = spec.resources.kind.empty() || pool.kind == spec.resources.kind;
        const bool connects = spec.network != NetworkKind::nccl || !pool.nccl.empty();
        if (of_kind && connects && check_computes(spec, pool.kind)) candidates.push_back(&pool);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Pool* a, const Pool* b) { return a->free.size() > b->free.size(); });
    return candidates;
}

}  // namespace rm
