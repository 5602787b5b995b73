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

void RankSeries::set_capacity(Bytes device_memory) {
    series_.add(families_.memory_capacity, labels_).Set(static_cast<double>(device_memory.value));
}

void RankSeries::update(const StepReport& report) {
    series_.add(families_.step_seconds, labels_).Set(report.seconds);
    series_.add(families_.work_seconds, labels_).Set(report.seconds - waited_seconds(report));
    update_memory(report);
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
}

void RankSeries::update_memory(const StepReport& report) {
    series_.add(families_.host_offload, labels_)
        .Set(static_cast<double>(report.memory.host_total().value));
    series_.add(families_.h2d_bytes, labels_).Increment(static_cast<double>(report.h2d_bytes));
    series_.add(families_.d2h_bytes, labels_).Increment(static_cast<double>(report.d2h_bytes));
    for (const auto& [name, bytes] : report.memory.by_kind) {
        const auto [kind, on_host] = memory_name(name);
        series_
            .add(on_host ? families_.host_memory : families_.memory,
                 labels_with("kind", std::string(kind)))
            .Set(static_cast<double>(bytes.value));
    }
}

}  // namespace rm
