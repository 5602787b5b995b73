#pragma once

#include <map>
#include <memory>
#include <string>

#include "controller/loops/survey_loop.h"

namespace prometheus {
class Gauge;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace rm {

// Measured links as metrics: one series per pair of nodes up to kNodesWithPairs of them, above it
// one per node (what it sends and receives at best, dst or src empty). Thread safe; read from the
// survey at each scrape.
class LinkMetrics {
public:
    static constexpr std::size_t kNodesWithPairs = 64;

    LinkMetrics();
    ~LinkMetrics();

    void update(const SurveyView& view);
    std::string expose() const;

private:
    template <typename T>
    using Family = prometheus::Family<T>;
    void set_pairs(const LinkBook& book);
    void set_nodes(const LinkBook& book);

    std::unique_ptr<prometheus::Registry> registry_;
    Family<prometheus::Gauge>& bandwidth_;
    Family<prometheus::Gauge>& latency_;
    Family<prometheus::Gauge>& degraded_;
    Family<prometheus::Gauge>& timestamp_;
};

}  // namespace rm
