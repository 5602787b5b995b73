#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/core/outcome.h"
#include "controller/core/state.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace rm {

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

}  // namespace rm
