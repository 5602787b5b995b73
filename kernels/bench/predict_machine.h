#pragma once

#include <map>
#include <string>

#include "engine/dry_run/predict.h"

// The measurements of this machine that predictions are made from.
namespace rm::bench {

// How a job's ranks use the cores.
struct CoreUse {
    int num_threads = 1;  // of each user
    int num_users = 1;    // that compute at once: ranks, or a device and the host that updates
    DType compute = DType::bf16;
    auto operator<=>(const CoreUse&) const = default;
};
std::string to_string(const CoreUse& use);

// Profiles of the CPU backend, each measured when it is first asked for. Several users each
// measures at the same time, so that the other cores are as busy as in the job; the profile is the
// first one's.
class MachineProfiles {
public:
    // `budget`: wall time of each. With a folder, what is there is read instead, and what is
    // measured is kept there.
    MachineProfiles(Seconds budget, std::string folder)
        : budget_(budget), folder_(std::move(folder)) {}

    // Errors: a file that cannot be read or written.
    Result<const DeviceProfile*> of(const CoreUse& use);

private:
    Result<DeviceProfile> make(const CoreUse& use) const;

    Seconds budget_;
    std::string folder_;  // empty: none
    std::map<CoreUse, DeviceProfile> profiles_;
};

// The local transport between two threads: both send and receive at once, as ring neighbours do.
// Latency is what a message of 64 bytes takes, the rate that of 1 MiB more; medians.
LinkSpeed measure_local_link();

}  // namespace rm::bench
