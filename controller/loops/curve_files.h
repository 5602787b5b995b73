#pragma once

#include <map>
#include <string>

#include "controller/store/telemetry_store.h"
#include "service/curves/run_files.h"

namespace rm {

// Keeps the curves of each job as files that other tools read while it trains:
// <directory>/<job>/metrics.jsonl and TensorBoard event files beside it. The controller writes them
// from what it has kept, so they go on when rank 0 moves to another node and when the controller
// restarts. Belongs to the telemetry loop.
class CurveFiles {
public:
    CurveFiles(TelemetryStore& store, StepSampler sampler, std::string directory)
        : store_(store), sampler_(std::move(sampler)), directory_(std::move(directory)) {}

    // Writes what was kept of the job since the last call.
    Status catch_up(const JobId& job);
    // Removes the files of jobs that have had no step for kOld; export-curves makes them again.
    void remove_old(WallTime now);

private:
    struct OpenRun {
        RunFiles files;
        KeptUpTo position;
    };
    Result<OpenRun*> open(const JobId& job);
    // A batch behind the position, which it moves; empty: there is none.
    Result<std::vector<CurveRow>> next_rows(const JobId& job, KeptUpTo& position);

    TelemetryStore& store_;
    const StepSampler sampler_;
    const std::string directory_;
    std::map<JobId, OpenRun> runs_;
};

}  // namespace rm
