#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/job_spec.h"
#include "engine/dry_run/predict.h"
#include "kernels/bench/predict_machine.h"

// Jobs that are small enough to be run here, as the dry run foretells them and as they are.
namespace rm::bench {

struct PredictJob {
    std::string name;
    ModelConfig model;
    StageShape shape;
    int ring = 1;
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
