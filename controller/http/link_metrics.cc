#include "controller/http/link_metrics.h"

#include <algorithm>

#include "service/metrics.h"

namespace rm {
namespace {

constexpr double kBytesPerGbit = 1e9 / 8;
constexpr const char* kNetwork = "network";

std::string class_of(const InsideSample& sample) {
    return sample.from == kHostEnd || sample.to == kHostEnd ? "host" : "device_pair";
}

std::string end_name(const NodeId& node, int device) {
    return device == kHostEnd ? format("{}:host", node) : format("{}:{}", node, device);
}

}  // namespace

LinkMetrics::LinkMetrics()
    : registry_(std::make_unique<prometheus::Registry>()),
      bandwidth_(gauge_family(*registry_, "ringmaster_link_bandwidth_bytes_per_second",
                              "Measured by surveys: what src sends to dst when nothing else does. "
                              "Of many nodes only each one's best, without the other end.")),
      latency_(gauge_family(*registry_, "ringmaster_link_latency_seconds",
                            "Measured by surveys, one way: half of the median round trip.")),
      degraded_(gauge_family(*registry_, "ringmaster_links_degraded",
                             "Links that are far below their baseline.")),
      timestamp_(gauge_family(*registry_, "ringmaster_link_survey_timestamp_seconds",
                              "When the newest measurement of a link was taken; 0: never.")) {}

LinkMetrics::~LinkMetrics() = default;

void LinkMetrics::set_pairs(const LinkBook& book) {
    for (const auto& [ends, link] : book.links) {
        const std::map<std::string, std::string> labels = {{"src", ends.first.value},
                                                           {"dst", ends.second.value}};
        auto with_class = labels;
        with_class["class"] = kNetwork;
        bandwidth_.Add(with_class).Set(link.bandwidth.value * kBytesPerGbit);
        latency_.Add(labels).Set(link.latency.value);
    }
    for (const auto& [id, node] : book.nodes) {
        for (const InsideSample& sample : node.inside) {
            bandwidth_
                .Add({{"src", end_name(id, sample.from)},
                      {"dst", end_name(id, sample.to)},
                      {"class", class_of(sample)}})
                .Set(sample.rate.value * kBytesPerGbit);
        }
    }
}

void LinkMetrics::set_nodes(const LinkBook& book) {
    for (const auto& [id, node] : book.nodes) {
        bandwidth_.Add({{"src", id.value}, {"dst", ""}, {"class", kNetwork}})
            .Set(node.egress.value * kBytesPerGbit);
        bandwidth_.Add({{"src", ""}, {"dst", id.value}, {"class", kNetwork}})
            .Set(node.ingress.value * kBytesPerGbit);
    }
}

void LinkMetrics::update(const SurveyView& view) {
    if (view.book.nodes.size() <= kNodesWithPairs) {
        set_pairs(view.book);
    } else {
        set_nodes(view.book);
    }
    WallTime newest;
    for (const auto& [ends, link] : view.book.links)
        newest = std::max(newest, link.measured);
    timestamp_.Add({}).Set(static_cast<double>(newest.micros) * 1e-6);
    degraded_.Add({}).Set(static_cast<double>(view.book.degraded().size()));
}

std::string LinkMetrics::expose() const {
    return rm::expose(*registry_);
}

}  // namespace rm
