#pragma once

#include <optional>
#include <string>

#include "engine/main/ring_train_config.h"
#include "kernels/meta/device_profile.h"

namespace rm {

// The options of a dry run on ring-train's command line.
struct DryRunRequest {
    std::string profile;       // a published profile's name or a file; empty: none
    std::string host_profile;  // the same for the host's update of state; empty: `profile`
    double link_gbit = 0;      // of every link, per second; 0: messages take no time
    std::string figure;        // SVG file of the last stage's timeline; empty: none
};

// Finds a published name (L40S), or reads a file. The error lists the published names.
Result<DeviceProfile> find_profile(const std::string& name_or_file);

// The policy that the ranks of the job train with: chosen within the spec's limits, for the stage
// of the longest context. Errors of choose_memory.
Result<MemoryPolicy> plan_memory(const RingTrainConfig& config, const DryRunRequest& request);

struct DryRunAnswer {
    std::string text;
    bool fits = true;  // every stage, within the memory that job and profile give
};

// The text of --dry-run that follows the layout, for every stage: memory, its course over the step,
// whether it fits where a limit is known and, with a profile, times. Writes the figure.
Result<DryRunAnswer> describe_dry_run(const RingTrainConfig& config, const DryRunRequest& request);

}  // namespace rm
