#include "worker/metrics/gpu_series.h"

#include <algorithm>

namespace rm {
namespace {

prometheus::Labels with(prometheus::Labels labels, const std::string& name,
                        const std::string& value) {
    labels[name] = value;
    return labels;
}

// A counter of the driver starts over when the driver does.
double growth(double before, double now) {
    return now >= before ? now - before : now;
}

}  // namespace

GpuSeries::GpuSeries(prometheus::Registry& registry, std::string node)
    : node_(std::move(node)),
      memory_total_(gauge_family(registry, "ringmaster_gpu_memory_bytes", "Memory of the GPU.")),
      memory_used_(gauge_family(registry, "ringmaster_gpu_memory_used_bytes",
                                "Memory of the GPU that all processes together hold.")),
      temperature_(
          gauge_family(registry, "ringmaster_gpu_temperature_celsius", "The GPU's temperature.")),
      power_(gauge_family(registry, "ringmaster_gpu_power_watts", "Power that the GPU draws.")),
      unfit_(gauge_family(registry, "ringmaster_gpu_unfit",
                          "1: no job is placed on the GPU; `ringmaster nodes` says why.")),
      ecc_errors_(gauge_family(registry, "ringmaster_gpu_ecc_errors",
                               "Memory errors since the GPU's last reset, by kind.")),
      energy_(counter_family(registry, "ringmaster_gpu_energy_joules_total",
                             "Energy that the GPU has used since the worker started.")),
      throttled_(counter_family(registry, "ringmaster_gpu_throttle_seconds_total",
                                "Time with lowered clocks, by reason, from looks every 5 s.")),
      xid_errors_(counter_family(registry, "ringmaster_gpu_xid_errors_total",
                                 "Errors that the GPU's driver has reported, by number.")),
      pcie_replays_(counter_family(registry, "ringmaster_gpu_pcie_replays_total",
                                   "Transfers over PCIe that had to be repeated.")) {}

prometheus::Labels GpuSeries::labels_of(const GpuReading& reading) const {
    return {{"node", node_}, {"gpu", std::to_string(reading.index)}, {"UUID", reading.facts.uuid}};
}

std::map<int, double> GpuSeries::update(const std::vector<GpuReading>& readings) {
    std::map<int, double> joules;
    for (const GpuReading& reading : readings)
        joules[reading.index] = update(reading);
    return joules;
}

double GpuSeries::update(const GpuReading& reading) {
    const prometheus::Labels labels = labels_of(reading);
    const GpuState& now = reading.state;
    unfit_.Add(labels).Set(reading.unfit.empty() ? 0 : 1);
    count_faults(reading, labels);
    if (now.lost) return 0;
    memory_total_.Add(labels).Set(static_cast<double>(reading.memory.value));
    memory_used_.Add(labels).Set(static_cast<double>(now.used.value));
    temperature_.Add(labels).Set(now.temperature_celsius);
    power_.Add(labels).Set(now.watts);
    ecc_errors_.Add(with(labels, "kind", "corrected"))
        .Set(static_cast<double>(now.corrected_errors));
    ecc_errors_.Add(with(labels, "kind", "uncorrected"))
        .Set(static_cast<double>(now.uncorrected_errors));
    const auto [known, fresh] = before_.try_emplace(reading.index, now);
    const double joules = growth(known->second.joules, now.joules);
    energy_.Add(labels).Increment(joules);
    pcie_replays_.Add(labels).Increment(growth(static_cast<double>(known->second.pcie_replays),
                                               static_cast<double>(now.pcie_replays)));
    known->second = now;
    return joules;
}

void GpuSeries::count_faults(const GpuReading& reading, const prometheus::Labels& labels) {
    for (const std::string& reason : reading.state.throttled)
        throttled_.Add(with(labels, "reason", reason)).Increment(reading.since.value);
    for (const int xid : reading.new_xids)
        xid_errors_.Add(with(labels, "xid", std::to_string(xid))).Increment();
}

}  // namespace rm
