#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/dry_run/predict.h"
#include "spec/job_spec.h"

// Parts of ring-bench predict: measurements of this machine, and jobs that are small enough to run
// here, as the dry run predicts them and as they run.
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
    // `budget`: wall time of each. With a folder, reads the profiles that are there, and stores
    // the measured ones there.
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

struct PredictJob {
    std::string name;
    ModelConfig model;
    StageShape shape;
    int ring = 1, ulysses = 1, tensor = 1;
    OptimizerPlace optimizer = OptimizerPlace::device;
    CoreUse cores;
};
// Five that differ in model, context, types, memory policy and parallelism: steps of seconds on two
// cores.
std::vector<PredictJob> predict_jobs();

// Seconds of a step: all of it, and what compute waits for or spends on the update.
struct StepParts {
    double all = 0;
    double offload = 0;    // waiting for what is kept on the host
    double ring = 0;       // waiting for hops
    double optimizer = 0;  // the update on the device, or waiting for that of the host
    // For messages of other ranks: as long as the rank waited that waited least for each, and what
    // others waited beyond that, because ranks began at different times (mean).
    double exchange = 0;
    double skew = 0;
    std::map<std::string, double> phases;  // all, by who says so: Prediction or StepReport
};

struct ForetoldStep {
    StepParts parts;
    Bytes device, host;  // arenas
};
// Errors: those of predict.
Result<ForetoldStep> foretell(const PredictJob& job, const DeviceProfile& profile, LinkSpeed link);

struct RealSteps {
    std::vector<StepParts> steps;  // the slowest rank's whole, the first one's phases, and means
    Bytes device, host;            // the largest arenas of a rank
};
// After one step that is not counted. Every rank is a thread with a pool of its own.
RealSteps run_steps(const PredictJob& job, int num_steps);

}  // namespace rm::bench
