#pragma once

#include <string>

#include "spec/report.h"
#include "worker/metrics/series.h"

namespace rm {

// The metric families that each worker exports for its own ranks.
struct RankFamilies {
    prometheus::Registry& registry;

    Gauges& step_seconds = gauge_family(registry, "ringmaster_rank_step_seconds",
                                        "Duration of this rank's last step; ranks end steps "
                                        "together.");
    Gauges& work_seconds =
        gauge_family(registry, "ringmaster_rank_work_seconds",
                     "Time of this rank's last step in which it did not wait for other ranks.");
    Gauges& memory = gauge_family(registry, "ringmaster_device_memory_bytes",
                                  "Device memory of this rank by what it holds.");
    Gauges& host_memory = gauge_family(
        registry, "ringmaster_host_memory_bytes",
        "Host memory of this rank by what it holds: state that lives beside the device.");
    Gauges& memory_capacity =
        gauge_family(registry, "ringmaster_device_memory_capacity_bytes",
                     "Memory of this rank's device; of a CPU slot, its share of the machine's.");
    Gauges& host_offload =
        gauge_family(registry, "ringmaster_host_offload_bytes",
                     "Host memory of this rank in place of device memory: activations and state.");
    Counters& h2d_bytes =
        counter_family(registry, "ringmaster_h2d_bytes_total",
                       "Activations and state that this rank has copied from host to device.");
    Counters& d2h_bytes = counter_family(
        registry, "ringmaster_d2h_bytes_total",
        "Activations, gradients and state that this rank has copied from device to host.");
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
    void set_capacity(Bytes device_memory);
    void add_energy(double joules);

private:
    void update_memory(const StepReport& report);
    prometheus::Labels labels_with(const std::string& name, const std::string& value) const;

    RankFamilies& families_;
    const prometheus::Labels labels_;
    Series series_;
};

}  // namespace rm
