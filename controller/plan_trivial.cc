#include "controller/plan_trivial.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/words.h"

namespace rm {
namespace {

using PoolKey = std::pair<std::string, std::string>;  // kind and build

// Devices of one kind whose workers run one build: what an attempt may be made of.
struct Pool {
    std::string kind;
    std::string build;
    std::vector<const PlanningDevice*> free;  // in order of registration
    int total = 0;
    int unreachable = 0;
    int missing = 0;
    int drained = 0;
    int excluded = 0;
    int without_files = 0;
    int elsewhere = 0;  // of the same kind and build, which the job's files keep apart from these
    std::map<std::string, int> busy;  // by holder
    int kept = 0;                     // free, for a job that has waited too long
    Reason kept_for;                  // why

    PoolKey key() const { return {kind, build}; }
    // What the job may come to have without somebody's doing.
    int usable() const { return total - missing - drained - excluded - without_files; }
    // Did somebody resume nodes and put files right.
    int mendable() const { return total - missing - excluded; }
    // It would run now but for what is kept.
    bool is_kept_from(int wanted) const {
        return kept > 0 && static_cast<int>(free.size()) + kept >= wanted;
    }
};

PlanningFiles::Place files_at(const PlanningSnapshot& snapshot, const PlanningJob& job,
                              const NodeId& node) {
    if (job.files < 0) return {};
    const auto& nodes = snapshot.files[static_cast<std::size_t>(job.files)].nodes;
    const auto found = nodes.find(node);
    return found == nodes.end() ? PlanningFiles::Place{} : found->second;
}

bool contains(const std::vector<DeviceId>& devices, const DeviceId& device) {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Free devices that later jobs may not take, with the reason that they get.
using Kept = std::map<DeviceId, Reason>;

// As one job sees them, those that it may be placed on; `takers` are the jobs that this pass has
// placed already.
std::vector<Pool> make_pools(const PlanningSnapshot& snapshot, const PlanningJob& job,
                             const std::map<DeviceId, std::string>& takers, const Kept& kept) {
    const std::set<DeviceId> excluded(job.excluded.begin(), job.excluded.end());
    const std::vector<DeviceId>& wanted = job.spec.resources.placement;
    std::map<std::pair<PoolKey, std::string>, Pool> pools;  // by where the job's files are, too
    for (const PlanningDevice& device : snapshot.devices) {
        if (!wanted.empty() && !contains(wanted, device.id)) continue;
        const PlanningFiles::Place files = files_at(snapshot, job, device.id.node);
        Pool& pool = pools[{{device.kind, device.build}, files.place}];
        pool.kind = device.kind;
        pool.build = device.build;
        ++pool.total;
        if (excluded.contains(device.id)) {
            ++pool.excluded;
        } else if (!files.against.empty()) {
            ++pool.without_files;
        } else if (takers.contains(device.id)) {
            ++pool.busy[takers.at(device.id)];
        } else if (device.availability == Availability::busy) {
            ++pool.busy[device.held_by];
        } else if (device.availability == Availability::unreachable) {
            ++pool.unreachable;
        } else if (device.availability == Availability::missing) {
            ++pool.missing;
        } else if (device.availability == Availability::drained) {
            ++pool.drained;
        } else if (const auto keeper = kept.find(device.id); keeper != kept.end()) {
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

// The mesh for a pool with this many free devices; nothing: too few.
Result<std::optional<Mesh>> mesh_for(const JobSpec& spec, int num_free) {
    const std::optional<int> wanted = spec.num_ranks();
    if (wanted && *wanted > num_free) return std::optional<Mesh>();
    if (spec.parallel) return spec.parallel;
    if (wanted) {
        RM_TRY(const Mesh mesh, auto_mesh(spec, *wanted));
        return std::optional<Mesh>(mesh);
    }
    std::optional<Error> last;
    for (int n = num_free; n > 0; --n) {
        const auto mesh = auto_mesh(spec, n);
        if (mesh) return std::optional<Mesh>(*mesh);
        last = mesh.error();
    }
    if (last) return *last;
    return std::optional<Mesh>();
}

std::string holders_of(const Pool& pool) {
    std::string text;
    for (const auto& [holder, count] : pool.busy) {
        text += format("{}{} busy with {}", text.empty() ? "" : ", ", count, holder);
    }
    if (const int away = pool.unreachable + pool.missing; away > 0) {
        text += format("{}{} on workers without a session", text.empty() ? "" : ", ", away);
    }
    if (pool.kept > 0) {
        text += format("{}{} kept for a job that has waited longer", text.empty() ? "" : ", ",
                       pool.kept);
    }
    if (pool.drained > 0) {
        text += format("{}{} on drained nodes", text.empty() ? "" : ", ", pool.drained);
    }
    if (pool.excluded > 0) {
        text += format("{}{} excluded after faults", text.empty() ? "" : ", ", pool.excluded);
    }
    if (pool.without_files > 0) {
        text +=
            format("{}{} on nodes without its files", text.empty() ? "" : ", ", pool.without_files);
    }
    return text;
}

// The remedy for devices that the job cannot get by waiting; empty: reasons elsewhere explain each
// of these devices and say what would help.
std::string remedy_for(const Pool& pool, int missing) {
    const std::string devices =
        format("{} {} device{}", missing, pool.kind, missing == 1 ? "" : "s");
    const int mendable = pool.drained + pool.without_files;
    std::string remedy;
    if (pool.drained >= missing) {
        remedy = "resume nodes with " + devices;
    } else if (mendable >= missing) {
        remedy = "put its files right on nodes with " + devices;
    } else if (mendable + pool.elsewhere < missing) {
        remedy = "add " + devices;
    }
    if (pool.usable() <= 0) return remedy;
    return remedy + format("{}ask for at most {}", remedy.empty() ? "" : " or ", pool.usable());
}

std::string fits_when(int missing) {
    return format("fits when {} more {} free", missing, missing == 1 ? "is" : "are");
}

Reason shortage(const Pool& pool, int wanted) {
    const std::string held = holders_of(pool);
    const std::string standing =
        format("needs {} {} device{}, {} {} free of {}{}", wanted, pool.kind,
               wanted == 1 ? "" : "s", pool.free.size(), pool.free.size() == 1 ? "is" : "are",
               pool.total, held.empty() ? "" : " (" + held + ")");
    if (wanted > pool.usable()) {
        return {standing, remedy_for(pool, wanted - pool.usable())};
    }
    return {standing, fits_when(wanted - static_cast<int>(pool.free.size()))};
}

std::vector<std::string> kinds_of(const std::vector<Pool>& pools) {
    std::vector<std::string> kinds;
    for (const Pool& pool : pools)
        kinds.push_back(format("{} {}", pool.total, pool.kind));
    return kinds;
}

Reasons reasons_against(const JobSpec& spec, const std::vector<Pool>& pools,
                        const std::vector<const Pool*>& candidates) {
    if (pools.empty()) {
        return {{"no worker has joined", "start one: ringmaster-worker --controller ADDRESS"}};
    }
    if (candidates.empty()) {
        std::string present;
        for (const std::string& kind : kinds_of(pools)) {
            present += (present.empty() ? "" : ", ") + kind;
        }
        return {
            {format("needs devices of kind '{}', the cluster has {}", spec.resources.kind, present),
             "add one or change resources.kind"}};
    }
    Reasons reasons;
    std::set<PoolKey> told;  // of nodes that differ in files, the largest group
    for (const Pool* pool : candidates) {
        if (!told.insert(pool->key()).second) continue;
        const int wanted = spec.num_ranks().value_or(1);
        reasons.push_back(pool->is_kept_from(wanted) ? pool->kept_for : shortage(*pool, wanted));
    }
    return reasons;
}

// Of a job that names its devices; the pools are of these.
Reason reason_against_named(const JobSpec& spec, const std::vector<Pool>& pools) {
    const int wanted = static_cast<int>(spec.resources.placement.size());
    int known = 0;
    int free = 0;
    int usable = 0;
    std::string held;
    for (const Pool& pool : pools) {
        known += pool.total;
        free += static_cast<int>(pool.free.size());
        usable += pool.usable();
        const std::string holders = holders_of(pool);
        held += (held.empty() || holders.empty() ? "" : ", ") + holders;
    }
    const std::string standing =
        format("resources.placement names {}, {} {} free{}", counted(wanted, "device"), free,
               free == 1 ? "is" : "are", held.empty() ? "" : " (" + held + ")");
    if (known < wanted) {
        return {format("{}, {} not there", standing, wanted - known),
                "`ringmaster nodes` lists those that are"};
    }
    if (pools.size() > 1) {
        return {standing + ", not all of one kind, build and place of files",
                "name devices that are alike"};
    }
    if (!spec.resources.kind.empty() && pools[0].kind != spec.resources.kind) {
        return {format("{}, of kind '{}'", standing, pools[0].kind),
                "the job asks for " + spec.resources.kind};
    }
    if (pools[0].is_kept_from(wanted)) return pools[0].kept_for;
    if (usable < wanted) return {standing, "name others or leave the choice to the scheduler"};
    return {standing, fits_when(wanted - free)};
}

// How long a rank waits for others to connect, and at least for one that computes: ranks extend it
// by what their steps and disks take. Many ranks take longer to start.
Seconds meeting_limit(const Mesh& mesh) {
    constexpr double kLeast = 60;
    constexpr double kPerRank = 1;
    return {std::max(kLeast, kPerRank * mesh.num_ranks())};
}

class Pass {
public:
    Pass(const PlanningSnapshot& snapshot, const Placer& placer)
        : snapshot_(snapshot), placer_(placer) {}

    PlanDecision decide(const PlanningJob& job) {
        if (!job.waits.empty()) return {job.id, Reasons{job.waits}};
        if (const Reason& waits = files_of(job).waits; !waits.empty()) {
            return {job.id, Reasons{waits}};
        }
        const std::vector<Pool> pools = make_pools(snapshot_, job, takers_, kept_);
        const std::vector<const Pool*> candidates = candidates_for(job.spec, pools);
        for (const Pool* pool : candidates) {
            const auto mesh = mesh_for(job.spec, static_cast<int>(pool->free.size()));
            if (!mesh) return {job.id, Reasons{reason_from(mesh.error().message)}};
            if (*mesh) return {job.id, place(job, *pool, **mesh)};
        }
        Reasons reasons = job.spec.resources.placement.empty()
                              ? reasons_against(job.spec, pools, candidates)
                              : Reasons{reason_against_named(job.spec, pools)};
        const Reasons& about_files = files_of(job).reasons;
        reasons.insert(reasons.end(), about_files.begin(), about_files.end());
        PlanDecision decision{job.id, std::move(reasons)};
        reserve_if_overdue(job, candidates);
        return decision;
    }

private:
    const PlanningFiles& files_of(const PlanningJob& job) const {
        static const PlanningFiles kNothing;
        return job.files < 0 ? kNothing : snapshot_.files[static_cast<std::size_t>(job.files)];
    }

    static std::vector<const Pool*> candidates_for(const JobSpec& spec,
                                                   const std::vector<Pool>& pools) {
        std::vector<const Pool*> candidates;
        for (const Pool& pool : pools) {
            if (spec.resources.kind.empty() || pool.kind == spec.resources.kind) {
                candidates.push_back(&pool);
            }
        }
        std::stable_sort(candidates.begin(), candidates.end(), [](const Pool* a, const Pool* b) {
            return a->free.size() > b->free.size();
        });
        return candidates;
    }

    Plan place(const PlanningJob& job, const Pool& pool, const Mesh& mesh) {
        Plan plan{.mesh = mesh,
                  .zero = job.spec.zero,
                  .placement = devices_for(job, pool, mesh),
                  .memory = resolve_memory(job.spec.memory),
                  .collective_timeout = meeting_limit(mesh)};
        for (const DeviceId& device : plan.placement)
            takers_[device] = "job " + job.id.value;
        return plan;
    }
    std::vector<DeviceId> devices_for(const PlanningJob& job, const Pool& pool,
                                      const Mesh& mesh) const {
        if (!job.spec.resources.placement.empty()) return job.spec.resources.placement;
        std::vector<DeviceId> free;
        for (const PlanningDevice* device : pool.free)
            free.push_back(device->id);
        if (placer_) {
            if (auto placed = placer_(job.spec, mesh, free)) return *std::move(placed);
        }
        free.resize(static_cast<std::size_t>(mesh.num_ranks()));
        return free;
    }

    // Reserves from the first pool that could come to hold the job, the one with most free, as many
    // as it needs. They are all that is free there, or it would run.
    void reserve_if_overdue(const PlanningJob& job, const std::vector<const Pool*>& candidates) {
        const Seconds waited = snapshot_.now - job.waiting_since;
        if (waited < snapshot_.max_bypass) return;
        if (!job.spec.resources.placement.empty()) return reserve_named(job, candidates);
        for (const Pool* pool : candidates) {
            if (pool->usable() < job.spec.num_ranks().value_or(1)) continue;
            const Reason reason{format("{} devices are kept for job {}, which has waited {}",
                                       pool->kind, job.id, waited),
                                "fits after it"};
            for (const PlanningDevice* device : pool->free)
                kept_.try_emplace(device->id, reason);
            return;
        }
    }

    void reserve_named(const PlanningJob& job, const std::vector<const Pool*>& candidates) {
        const std::vector<DeviceId>& named = job.spec.resources.placement;
        if (candidates.size() != 1) return;
        if (candidates[0]->usable() < static_cast<int>(named.size())) return;
        for (const DeviceId& device : named)
            takers_.try_emplace(device, format("job {}, for which they are kept", job.id));
    }

    const PlanningSnapshot& snapshot_;
    const Placer& placer_;
    std::map<DeviceId, std::string> takers_;
    Kept kept_;
};

}  // namespace

Result<Mesh> auto_mesh(const JobSpec& spec, int num_devices) {
    std::optional<Error> first;
    for (int ring = num_devices; ring > 0; --ring) {
        if (num_devices % ring != 0) continue;
        RM_TRY(const Mesh mesh, Mesh::make(num_devices / ring, ring, 1, 1));
        JobSpec meshed = spec;
        meshed.parallel = mesh;
        const Status valid = validate(meshed);
        if (valid) return mesh;
        if (!first) first = valid.error();
    }
    RM_CHECK(first.has_value(), "a mesh of {} devices was asked for", num_devices);
    return invalid_argument("no mesh of {} devices fits this job; as one ring: {}", num_devices,
                            first->message);
}

std::vector<PlanDecision> plan_trivially(const PlanningSnapshot& snapshot) {
    return plan_placed(snapshot, {});
}

std::vector<PlanDecision> plan_placed(const PlanningSnapshot& snapshot, const Placer& placer) {
    Pass pass(snapshot, placer);
    std::vector<PlanDecision> decisions;
    for (const PlanningJob& job : snapshot.pending)
        decisions.push_back(pass.decide(job));
    return decisions;
}

}  // namespace rm
