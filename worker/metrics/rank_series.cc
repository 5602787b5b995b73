#include "worker/metrics/rank_series.h"

#include <algorithm>

namespace rm {

prometheus::Labels RankSeries::labels_with(const std::string& name,
                                           const std::string& value) const {
    prometheus::Labels labels = labels_;
    labels[name] = value;
    return labels;
}

void RankSeries::add_energy(double joules) {
    series_.add(families_.energy, labels_).Increment(joules);
}

void RankSeries::update(const StepReport& report) {
    series_.add(families_.step_seconds, labels_).Set(report.seconds);
    prometheus::Counter& ring_bytes = series_.add(families_.ring_bytes, labels_);
    prometheus::Counter& ring_wait = series_.add(families_.ring_wait, labels_);
    for (const auto& [name, traffic] : report.axes) {
        const double bytes = std::max(0.0, static_cast<double>(traffic.bytes_sent));
        const double exposed = std::max(0.0, traffic.wait_seconds);
        const prometheus::Labels labels = labels_with("axis", name);
        series_.add(families_.axis_bytes, labels).Increment(bytes);
        series_.add(families_.axis_exposed, labels).Increment(exposed);
        if (name != "ring") continue;
        ring_bytes.Increment(bytes);
        ring_wait.Increment(exposed);
    }
    for (const auto& [name, bytes] : report.memory.by_kind) {
        const auto [kind, on_host] = memory_name(name);
        series_
            .add(on_host ? families_.host_memory : families_.memory,
                 labels_with("kind", std::string(kind)))
            .Set(static_cast<double>(bytes.value));
    }
}

}  // namespace rm
