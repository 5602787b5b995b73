#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/snapshot.h"

namespace rm {

using PoolKey = std::pair<std::string, std::string>;  // kind and build

// Devices of one kind whose workers run one build: an attempt uses devices of one pool.
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
    int elsewhere = 0;  // of the same kind and build, kept apart by where the job's files are
    std::map<std::string, int> busy;  // by holder
    int kept = 0;                     // free, for a job that has waited too long
    Reason kept_for;                  // why

    PoolKey key() const { return {kind, build}; }
    // Devices that the job can get by waiting alone.
    int usable() const { return total - missing - drained - excluded - without_files; }
    // Devices that the job could get if an admin resumed nodes and repaired files.
    int mendable() const { return total - missing - excluded; }
    // Whether the job would run now if no devices were kept from it.
    bool is_kept_from(int wanted) const {
        return kept > 0 && static_cast<int>(free.size()) + kept >= wanted;
    }
};

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
// The pools of the kind that the job asks for, the one with most free devices first.
std::vector<const Pool*> candidates_for(const JobSpec& spec, const std::vector<Pool>& pools);

}  // namespace rm
