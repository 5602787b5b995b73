#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "planner/snapshot.h"

namespace rm {

using PoolKey = std::tuple<std::string, std::string, std::string>;  // kind, build and NCCL version

// Devices of one kind whose workers run one build and have one version of NCCL: an attempt uses
// devices of one pool.
struct Pool {
    std::string kind;
    std::string build;
    std::string nccl;
    std::vector<const PlanningDevice*> free;  // in order of registration
    int total = 0;
    int unreachable = 0;
    int missing = 0;
    int drained = 0;
    std::map<std::string, int> unfit;  // by reason
    int excluded = 0;
    int without_files = 0;
    int elsewhere = 0;  // of the same kind and build, kept apart by where the job's files are
    std::map<std::string, int> busy;  // by holder
    int kept = 0;                     // free, for a job that has waited too long
    Reason kept_for;                  // why

    PoolKey key() const { return {kind, build, nccl}; }
    // Devices that the job can get by waiting alone.
    int usable() const { return mendable() - drained - without_files; }
    // Devices that the job could get if an admin resumed nodes and repaired files.
    int mendable() const { return total - missing - excluded - num_unfit(); }
    int num_unfit() const;
    // Whether the job would run now if no devices were kept from it.
    bool is_kept_from(int wanted) const {
        return kept > 0 && static_cast<int>(free.size()) + kept >= wanted;
    }
};

// How the ranks of a job on these devices reach each other.
NetworkKind network_for(const JobSpec& spec, const PlanningDevice& device, int num_ranks);

// Devices that a pass has promised to jobs. The words tell a later job why it cannot have them.
struct Claims {
    std::map<DeviceId, std::string> taken;  // who holds them: "job abc123"
    std::map<DeviceId, Reason> kept;        // the whole reason; these are free
};

// The empty value if nothing is known about the job's files.
const PlanningFiles& files_of(const PlanningSnapshot& snapshot, const PlanningJob& job);

// Groups the devices that the job may be placed on into pools, with their states.
std::vector<Pool> make_pools(const PlanningSnapshot& snapshot, const PlanningJob& job,
                             const Claims& claims);
// The pools of the kind that the job asks for, with NCCL if it asks for that; the one with most
// free devices first.
std::vector<const Pool*> candidates_for(const JobSpec& spec, const std::vector<Pool>& pools);

}  // namespace rm
