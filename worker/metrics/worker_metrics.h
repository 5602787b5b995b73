#pragma once

#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "worker/agent/attempt_view.h"
#include "worker/metrics/gpu_series.h"
#include "worker/metrics/node_series.h"
#include "worker/metrics/rank_series.h"
#include "worker/metrics/train_series.h"

namespace rm {

// /metrics of a worker. Any thread may call.
class WorkerMetrics {
public:
    // How long an ended run keeps its last values.
    static constexpr Seconds kKeepEnded{120};

    struct Machine {
        std::map<int, Bytes> device_memory;  // by the device's index
        std::string directory = "/";         // on the disk that is watched
    };
    WorkerMetrics(NodeId node, Machine machine);

    // The first look of a daemon: runs that had ended before it started are not exported.
    void start_from(const std::vector<Observation>& seen, MonoTime now);
    // Takes the observations of a look; also removes expired runs.
    void update(const std::vector<Observation>& seen, MonoTime now);
    // Takes a look at the offered GPUs; their energy counts for the ranks that run on them.
    void update(const std::vector<GpuReading>& readings);
    void set_certificate_expiry(WallTime until);
    HttpResponse response();

private:
    struct Run {
        Epoch epoch;  // the newest of this job
        std::optional<MonoTime> ended;
        std::unique_ptr<TrainSeries> train;  // when rank 0 is here
        std::map<int, std::unique_ptr<RankSeries>> ranks;
        std::map<int, int> devices;  // of ranks
    };
    void take(const Observation& seen, MonoTime now);
    void take(Run& run, const AttemptStatus& status, const RankReport& report);
    RankSeries& rank_series(Run& run, const AttemptStatus& status, int rank);

    void take_all(const std::vector<Observation>& seen, MonoTime now);

    const std::string node_;
    const std::map<int, Bytes> device_memory_;
    std::mutex mutex_;
    prometheus::Registry registry_;
    TrainFamilies train_{registry_};
    RankFamilies ranks_{registry_};
    GpuSeries gpus_{registry_, node_};
    NodeSeries machine_;
    std::map<JobId, Run> runs_;
    std::set<Epoch> ended_before_;  // this daemon started
};

}  // namespace rm
