#include "controller/http/metrics/link_metrics.h"

#include <algorithm>

#include "service/http/metrics.h"

namespace rm {
namespace {

using prometheus::Labels;
using Gauges = prometheus::Family<prometheus::Gauge>;

constexpr double kBytesPerGbit = 1e9 / 8;
constexpr const char* kNetwork = "network";

std::string class_of(const InsideSample& sample) {
    return sample.from == kHostEnd || sample.to == kHostEnd ? "host" : "device_pair";
}

std::string end_name(const NodeId& node, int device) {
    return device == kHostEnd ? format("{}:host", node) : format("{}:{}", node, device);
}

Labels ends_of(const std::string& from, const std::string& to, const std::string& link_class) {
    return {{"src", from}, {"dst", to}, {"class", link_class}};
}

void set(Gauges& rates, const Labels& labels, GbitPerSec rate) {
    rates.Add(labels).Set(rate.value * kBytesPerGbit);
}

struct Families {
    prometheus::Registry registry;
    Gauges& bandwidth =
        gauge_family(registry, "ringmaster_link_bandwidth_bytes_per_second",
                     "Measured by surveys: what src sends to dst when nothing else does. "
                     "Of many nodes only each one's best, without the other end.");
    Gauges& baseline = gauge_family(
        registry, "ringmaster_link_baseline_bytes_per_second",
        "What src has sent to dst in earlier surveys: a link far below it counts as degraded.");
    Gauges& latency = gauge_family(registry, "ringmaster_link_latency_seconds",
                                   "Measured by surveys, one way: half of the median round trip.");
    Gauges& degraded = gauge_family(registry, "ringmaster_links_degraded",
                                    "Links that are far below their baseline.");
    Gauges& timestamp = gauge_family(registry, "ringmaster_link_survey_timestamp_seconds",
                                     "When the newest measurement of a link was taken; 0: never.");
};

void set_pairs(Families& to, const LinkBook& book) {
    for (const auto& [ends, link] : book.links) {
        const std::string &from = ends.first.value, &other = ends.second.value;
        set(to.bandwidth, ends_of(from, other, kNetwork), link.bandwidth);
        if (link.baseline.value > 0)
            set(to.baseline, ends_of(from, other, kNetwork), link.baseline);
        to.latency.Add({{"src", from}, {"dst", other}}).Set(link.latency.value);
    }
    for (const auto& [id, node] : book.nodes) {
        for (const InsideSample& sample : node.inside) {
            const Labels labels =
                ends_of(end_name(id, sample.from), end_name(id, sample.to), class_of(sample));
            set(to.bandwidth, labels, sample.rate);
        }
    }
}

void set_nodes(Families& to, const LinkBook& book) {
    for (const auto& [id, node] : book.nodes) {
        set(to.bandwidth, ends_of(id.value, "", kNetwork), node.egress);
        set(to.bandwidth, ends_of("", id.value, kNetwork), node.ingress);
    }
}

}  // namespace

std::string link_metrics(const LinkBook& book) {
    Families families;
    if (book.nodes.size() <= kNodesWithPairs) {
        set_pairs(families, book);
    } else {
        set_nodes(families, book);
    }
    WallTime newest;
    for (const auto& [ends, link] : book.links)
        newest = std::max(newest, link.measured);
    families.timestamp.Add({}).Set(static_cast<double>(newest.micros) * 1e-6);
    families.degraded.Add({}).Set(static_cast<double>(book.degraded().size()));
    return expose(families.registry);
}

}  // namespace rm
