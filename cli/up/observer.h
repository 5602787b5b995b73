#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "cli/up/daemon.h"

namespace rm {

// Debian's Prometheus beside a local cluster: it finds the controller and the workers by the
// controller's service discovery and evaluates the rules and alerts of dashboards/prometheus.
class Observer {
public:
    // Keeps configuration and data in `directory`. `http` is the controller's host:port. NOT_FOUND:
    // there is no Prometheus on this machine.
    static Result<Observer> start(const std::string& directory, const std::string& http);

    const std::string& address() const { return address_; }  // host:port of its own page
    void stop(Seconds limit);

private:
    Observer(DaemonProcess process, std::string address)
        : process_(std::move(process)), address_(std::move(address)) {}

    DaemonProcess process_;
    std::string address_;
};

// Its configuration.
std::string prometheus_config(const std::string& http);

}  // namespace rm
