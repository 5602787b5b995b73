#pragma once

#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "worker/agent/attempt_view.h"
#include "worker/metrics/rank_series.h"
#include "worker/metrics/train_series.h"

namespace rm {

// /metrics of a worker. One thread calls update(); any thread may call response().
class WorkerMetrics {
public:
    // How long an ended run keeps its last values.
    static constexpr Seconds kKeepEnded{120};

    explicit WorkerMetrics(NodeId node);

    // The first look of a daemon: runs that had ended before it started are not exported.
    void start_from(const std::vector<Observation>& seen, MonoTime now);
    // Takes the observations of a look; also removes expired runs.
    void update(const std::vector<Observation>& seen, MonoTime now);
    HttpResponse response() const { return metrics_response(registry_); }

private:
    struct Run {
        Epoch epoch;  // the newest of this job
        std::optional<MonoTime> ended;
        std::unique_ptr<TrainSeries> train;  // when rank 0 is here
        std::map<int, std::unique_ptr<RankSeries>> ranks;
    };
    void take(const Observation& seen, MonoTime now);
    void take(Run& run, const AttemptStatus& status, const RankReport& report);
    RankSeries& rank_series(Run& run, const AttemptStatus& status, int rank);

    const std::string node_;
    prometheus::Registry registry_;
    TrainFamilies train_{registry_};
    RankFamilies ranks_{registry_};
    std::map<JobId, Run> runs_;
    std::set<Epoch> ended_before_;  // this daemon started
};

}  // namespace rm
