#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/e2e/support/alertmanager.h"
#include "tests/e2e/support/prometheus.h"

// Alerts fired on purpose: a fault happens, Prometheus sees it by the rules of
// dashboards/prometheus and tells Alertmanager, the fault is mended, and the alert goes.
namespace rm::e2e {

// How long a minute of the rules takes. With RM_ALERT_PATIENCE=real it takes a minute and the
// intervals are those of dashboards/prometheus/prometheus.yml; otherwise two seconds, and the
// intervals are shorter by the same factor.
struct Patience {
    double seconds_per_minute;
    std::string interval;
    static Patience chosen();
    Seconds minutes(double count) const { return Seconds{count * seconds_per_minute}; }
    // Rules with this patience. RM_CHECK: each number of seconds that it knows is in some rule.
    std::string applied_to(std::string rules) const;
};

struct DrilledFault {
    std::string alert;
    std::string what;  // for the table
    std::function<void()> happen = [] {};
    std::function<void()> end = [] {};
    double minutes = 0;  // that the rule waits for at most
};

class AlertDrill {
public:
    // Why this machine cannot drill; empty: it can.
    static std::string why_not();
    // `prefix` of the names of its files; `controller`: HTTP, host:port.
    AlertDrill(const std::string& prefix, const std::string& controller,
               const std::string& tls = {});

    // All of them happen, then each alert must fire; all end, then each alert must go. Prints rows
    // of a table: how many seconds that took from the fault, and from its end.
    void run(const std::vector<DrilledFault>& faults) const;
    // Names that fired in this time.
    std::set<std::string> watch(Seconds time) const;

    Patience patience = Patience::chosen();
    const Alertmanager& alertmanager() const { return *alertmanager_; }
    const Prometheus& prometheus() const { return *prometheus_; }

private:
    // Seconds until each fires, or does not, by its stopwatch.
    std::vector<double> times_until_all(const std::vector<DrilledFault>& faults, bool fire,
                                        const std::vector<Stopwatch>& since) const;

    std::unique_ptr<Alertmanager> alertmanager_;
    std::unique_ptr<Prometheus> prometheus_;
};

}  // namespace rm::e2e
