#pragma once

#include <string>

#include "spec/report.h"
#include "worker/metrics/series.h"

namespace rm {

// The metric families that each worker exports for its own ranks.
struct RankFamilies {
    prometheus::Registry& registry;

    Gauges& step_seconds = gauge_family(registry, "ringmaster_rank_step_seconds",
                                        "Duration of this rank's last step.");
    Gauges& memory = gauge_family(registry, "ringmaster_device_memory_bytes",
                                  "Device memory of this rank by what it holds.");
    Gauges& host_memory = gauge_family(
        registry, "ringmaster_host_memory_bytes",
        "Host memory of this rank by what it holds: state that lives beside the device.");
    Counters& axis_bytes = counter_family(registry, "ringmaster_axis_tx_bytes_total",
                                          "Bytes this rank has sent along each axis of the mesh.");
    Counters& axis_exposed =
        counter_family(registry, "ringmaster_axis_exposed_seconds_total",
                       "Time this rank's compute has waited for each axis of the mesh.");
    Counters& ring_bytes = counter_family(registry, "ringmaster_ring_tx_bytes_total",
                                          "Bytes this rank has sent along its rings.");
    Counters& ring_wait =
        counter_family(registry, "ringmaster_ring_wait_seconds_total",
                       "Time this rank's compute has waited for a hop of the ring.");
    Counters& energy =
        counter_family(registry, "ringmaster_rank_energy_joules_total",
                       "Energy that this rank's GPU has used during the run; a run's energy is "
                       "the sum over its ranks.");
};

// The children of one rank; `labels` are run, node, gpu, rank.
class RankSeries {
public:
    RankSeries(RankFamilies& families, prometheus::Labels labels)
        : families_(families), labels_(std::move(labels)) {}
    void update(const StepReport& report);
    void add_energy(double joules);

private:
    prometheus::Labels labels_with(const std::string& name, const std::string& value) const;

    RankFamilies& families_;
    const prometheus::Labels labels_;
    Series series_;
};

}  // namespace rm
