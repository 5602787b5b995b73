#pragma once

#include <map>
#include <string>
#include <vector>

#include "worker/inventory/gpu_watch.h"
#include "worker/metrics/series.h"

namespace rm {

// The metrics of the GPUs that a worker offers, with the labels node, gpu and UUID, whose last two
// are those of dcgm-exporter.
class GpuSeries {
public:
    GpuSeries(prometheus::Registry& registry, std::string node);

    // Takes a look. Returns the energy that each GPU has used since the look before, in joules, by
    // its index.
    std::map<int, double> update(const std::vector<GpuReading>& readings);

private:
    double update(const GpuReading& reading);
    void count_faults(const GpuReading& reading, const prometheus::Labels& labels);
    prometheus::Labels labels_of(const GpuReading& reading) const;

    const std::string node_;
    Gauges& memory_total_;
    Gauges& memory_used_;
    Gauges& temperature_;
    Gauges& power_;
    Gauges& unfit_;
    Gauges& ecc_errors_;
    Counters& energy_;
    Counters& throttled_;
    Counters& xid_errors_;
    Counters& pcie_replays_;
    std::map<int, GpuState> before_;  // by index
};

}  // namespace rm
