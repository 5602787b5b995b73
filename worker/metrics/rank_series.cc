#include "worker/metrics/rank_series.h"

#include <algorithm>
#include <utility>

namespace rm {

RankFamilies::RankFamilies(prometheus::Registry& registry)
    : step_seconds(gauge_family(registry, "ringmaster_rank_step_seconds",
                                "Duration of this rank's last step.")),
      memory(gauge_family(registry, "ringmaster_device_memory_bytes",
                          "Device memory of this rank by what it holds.")),
      ring_bytes(counter_family(registry, "ringmaster_ring_tx_bytes_total",
                                "Bytes this rank has sent along its rings.")),
      ring_wait(counter_family(registry, "ringmaster_ring_wait_seconds_total",
                               "Time this rank's compute has waited for a hop of the ring.")) {}

RankSeries::RankSeries(RankFamilies& families, prometheus::Labels labels)
    : families_(families),
      labels_(std::move(labels)),
      step_seconds_(series_.add(families.step_seconds, labels_)),
      ring_bytes_(series_.add(families.ring_bytes, labels_)),
      ring_wait_(series_.add(families.ring_wait, labels_)) {}

void RankSeries::update(const StepReport& report) {
    step_seconds_.Set(report.seconds);
    ring_bytes_.Increment(std::max(0.0, static_cast<double>(report.ring_bytes_sent)));
    ring_wait_.Increment(std::max(0.0, report.ring_wait_seconds));
    for (const auto& [kind, bytes] : report.memory.by_kind) {
        prometheus::Gauge*& gauge = memory_[kind];
        if (gauge == nullptr) {
            prometheus::Labels labels = labels_;
            labels["kind"] = kind;
            gauge = &series_.add(families_.memory, labels);
        }
        gauge->Set(static_cast<double>(bytes.value));
    }
}

}  // namespace rm
