#pragma once

#include <map>
#include <string>

#include "base/report.h"
#include "worker/metrics/series.h"

namespace rm {

// The metric families that each worker exports for its own ranks.
struct RankFamilies {
    explicit RankFamilies(prometheus::Registry& registry);

    prometheus::Family<prometheus::Gauge>& step_seconds;
    prometheus::Family<prometheus::Gauge>& memory;
    prometheus::Family<prometheus::Gauge>& host_memory;
    prometheus::Family<prometheus::Counter>& axis_bytes;
    prometheus::Family<prometheus::Counter>& axis_exposed;
    prometheus::Family<prometheus::Counter>& ring_bytes;
    prometheus::Family<prometheus::Counter>& ring_wait;
};

// The children of one rank; `labels` are run, node, gpu, rank.
class RankSeries {
public:
    RankSeries(RankFamilies& families, prometheus::Labels labels);
    void update(const StepReport& report);

private:
    struct AxisCounters {
        prometheus::Counter& bytes;
        prometheus::Counter& exposed;
    };
    prometheus::Labels labels_with(const std::string& name, const std::string& value) const;
    prometheus::Gauge& gauge_of(const std::string& name);  // of memory
    AxisCounters& counters_of(const std::string& axis);

    RankFamilies& families_;
    const prometheus::Labels labels_;
    Series series_;
    prometheus::Gauge& step_seconds_;
    prometheus::Counter& ring_bytes_;
    prometheus::Counter& ring_wait_;
    std::map<std::string, prometheus::Gauge*> memory_;  // by kind
    std::map<std::string, AxisCounters> axes_;          // made when the axis first moves something
};

}  // namespace rm
