#include "worker/metrics/rank_series.h"

#include <algorithm>
#include <utility>

namespace rm {

RankSeries::RankSeries(RankFamilies& families, prometheus::Labels labels)
    : families_(families),
      labels_(std::move(labels)),
      step_seconds_(series_.add(families.step_seconds, labels_)),
      ring_bytes_(series_.add(families.ring_bytes, labels_)),
      ring_wait_(series_.add(families.ring_wait, labels_)) {}

prometheus::Labels RankSeries::labels_with(const std::string& name,
                                           const std::string& value) const {
    prometheus::Labels labels = labels_;
    labels[name] = value;
    return labels;
}

prometheus::Gauge& RankSeries::gauge_of(const std::string& name) {
    const auto [kind, on_host] = memory_name(name);
    return series_.add(on_host ? families_.host_memory : families_.memory,
                       labels_with("kind", std::string(kind)));
}

RankSeries::AxisCounters& RankSeries::counters_of(const std::string& axis) {
    if (const auto known = axes_.find(axis); known != axes_.end()) return known->second;
    const prometheus::Labels labels = labels_with("axis", axis);
    const AxisCounters made{series_.add(families_.axis_bytes, labels),
                            series_.add(families_.axis_exposed, labels)};
    return axes_.emplace(axis, made).first->second;
}

void RankSeries::update(const StepReport& report) {
    step_seconds_.Set(report.seconds);
    for (const auto& [name, traffic] : report.axes) {
        const double bytes = std::max(0.0, static_cast<double>(traffic.bytes_sent));
        const double exposed = std::max(0.0, traffic.wait_seconds);
        AxisCounters& axis = counters_of(name);
        axis.bytes.Increment(bytes);
        axis.exposed.Increment(exposed);
        if (name != "ring") continue;
        ring_bytes_.Increment(bytes);
        ring_wait_.Increment(exposed);
    }
    for (const auto& [kind, bytes] : report.memory.by_kind) {
        prometheus::Gauge*& gauge = memory_[kind];
        if (gauge == nullptr) gauge = &gauge_of(kind);
        gauge->Set(static_cast<double>(bytes.value));
    }
}

}  // namespace rm
