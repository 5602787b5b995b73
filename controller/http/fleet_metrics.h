#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/core/outcome.h"
#include "controller/loops/survey_loop.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace rm {

// Whether a run has series: it has had devices, and not ended before the last scrapes.
bool has_series(const State& state, const Job& job, WallTime now);

// The controller's own metrics (OPERATE.md, "Metrics"): fleet, jobs, run info. Counts transitions
// as they are committed and reads everything else from the state at each scrape. Thread
// safe.
class FleetMetrics {
public:
    explicit FleetMetrics(const std::string& version);
    ~FleetMetrics();

    void observe(const std::vector<Transition>& transitions);
    // `telemetry_refused`: since the controller started.
    void update(const State& state, WallTime now, std::int64_t telemetry_refused);
    std::string expose() const;

private:
    template <typename T>
    using Family = prometheus::Family<T>;

    void update_run_info(const State& state, WallTime now);

    std::unique_ptr<prometheus::Registry> registry_;
    Family<prometheus::Gauge>& nodes_;
    Family<prometheus::Gauge>& devices_;
    Family<prometheus::Gauge>& jobs_;
    Family<prometheus::Counter>& transitions_;
    Family<prometheus::Gauge>& run_info_;
    prometheus::Histogram* queue_wait_;
    prometheus::Counter* telemetry_refused_;
    std::map<std::map<std::string, std::string>, prometheus::Gauge*> runs_;  // by labels
};

// Measured links as metrics: one series per pair of nodes up to kNodesWithPairs nodes; above it,
// two per node (its best sending and receiving rates, with dst or src empty). Thread safe; read
// from the survey at each scrape.
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
