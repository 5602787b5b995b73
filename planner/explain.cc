#include "planner/explain.h"

#include <set>

#include "base/words.h"
#include "spec/machine/device_kind.h"

namespace rm {
namespace {

std::string holders_of(const Pool& pool) {
    std::string text;
    const auto add = [&](int count, const std::string& where) {
        if (count > 0) text += format("{}{} {}", text.empty() ? "" : ", ", count, where);
    };
    for (const auto& [holder, count] : pool.busy)
        add(count, "busy with " + holder);
    add(pool.unreachable + pool.missing, "on workers without a session");
    add(pool.kept, "kept for a job that has waited longer");
    add(pool.drained, "on drained nodes");
    for (const auto& [why, count] : pool.unfit)
        add(count, format("unfit ({})", why));
    add(pool.excluded, "excluded after faults");
    add(pool.without_files, "on nodes without its files");
    return text;
}

// The remedy for devices that the job cannot get by waiting; empty: reasons elsewhere explain each
// of these devices and say what would help.
std::string remedy_for(const Pool& pool, int missing) {
    const std::string devices = counted(missing, pool.kind + " device");
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

std::string_view is_or_are(int count) {
    return count == 1 ? "is" : "are";
}

std::string fits_when(int missing) {
    return format("fits when {} more {} free", missing, is_or_are(missing));
}

std::string in_brackets(const std::string& held) {
    return held.empty() ? "" : " (" + held + ")";
}

Reason shortage(const Pool& pool, int wanted) {
    const int free = static_cast<int>(pool.free.size());
    const std::string standing =
        format("needs {}, {} {} free of {}{}", counted(wanted, pool.kind + " device"), free,
               is_or_are(free), pool.total, in_brackets(holders_of(pool)));
    if (wanted > pool.usable()) {
        return {standing, remedy_for(pool, wanted - pool.usable())};
    }
    return {standing, fits_when(wanted - free)};
}

// Whether the job would have candidates if it did not ask for NCCL.
bool lacks_nccl(JobSpec spec, const std::vector<Pool>& pools) {
    if (spec.network != NetworkKind::nccl) return false;
    spec.network.reset();
    return !candidates_for(spec, pools).empty();
}

// For a job that names its devices; `pools` holds only those.
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
               is_or_are(free), in_brackets(held));
    if (known < wanted) {
        return {format("{}, {} not there", standing, wanted - known),
                "`ringmaster nodes` lists those that are"};
    }
    if (pools.size() > 1) {
        return {standing + ", not all of one kind, build, version of NCCL and place of files",
                "name devices that are alike"};
    }
    if (!spec.resources.kind.empty() && pools[0].kind != spec.resources.kind) {
        return {format("{}, of kind '{}'", standing, pools[0].kind),
                "the job asks for " + spec.resources.kind};
    }
    if (const Status computes = check_computes(spec, pools[0].kind); !computes)
        return {standing + "; " + computes.error().message, "name devices that can"};
    if (lacks_nccl(spec, pools) && candidates_for(spec, pools).empty()) {
        return {standing + ", without NCCL (libnccl.so.2)",
                "install it there and restart their workers, or use network: auto"};
    }
    if (pools[0].is_kept_from(wanted)) return pools[0].kept_for;
    if (usable < wanted) return {standing, "name others or leave the choice to the scheduler"};
    return {standing, fits_when(wanted - free)};
}

}  // namespace

Reasons reasons_against(const JobSpec& spec, const std::vector<Pool>& pools,
                        const std::vector<const Pool*>& candidates) {
    if (!spec.resources.placement.empty()) return {reason_against_named(spec, pools)};
    if (pools.empty()) {
        return {{"no worker has joined", "start one: ringmaster-worker --controller ADDRESS"}};
    }
    if (candidates.empty()) {
        std::string present;
        for (const Pool& pool : pools)
            present += format("{}{} {}", present.empty() ? "" : ", ", pool.total, pool.kind);
        if (const Status computes = check_computes(spec, pools.front().kind);
            spec.resources.kind.empty() && !computes) {
            return {{computes.error().message, format("the cluster has {}", present)}};
        }
        if (lacks_nccl(spec, pools)) {
            return {{format("network: nccl needs GPUs on nodes with NCCL (libnccl.so.2); the "
                            "cluster has {}, none with it",
                            present),
                     "install it there and restart their workers, or use network: auto"}};
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

}  // namespace rm
