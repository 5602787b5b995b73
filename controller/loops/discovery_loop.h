#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/os/loop.h"
#include "controller/discovery/reconcile.h"
#include "controller/loops/control_loop.h"
#include "service/log.h"

namespace rm {

struct DiscoveryOptions {
    std::function<std::unique_ptr<Provider>()> provider;  // null: none is asked
    Seconds every{30};
    std::string command;  // provision_command()'s pattern
};

// Asks the provider for its machines, on a thread of its own, and after a failure less often. The
// answers are facts of the present: no table keeps them. The control loop learns the shapes of the
// nodes' machines, which prices depend on.
class DiscoveryLoop {
public:
    DiscoveryLoop(const DiscoveryOptions& options, ControlLoop& control, const Clock& clock);

    // The machines of the last look beside the nodes of now. Not inside ControlLoop::read().
    MachinesView view() const;

private:
    Seconds look(const std::stop_token& stop);
    void keep(std::vector<Machine> machines);
    Seconds after_failure(const Error& error);
    std::vector<NodeFacts> nodes() const;

    const std::unique_ptr<Provider> provider_;
    const Seconds every_;
    const std::string command_;
    ControlLoop& control_;
    const Clock& clock_;
    RepeatedEvent failed_{"discovery_failed"};
    Seconds pause_;

    mutable std::mutex mutex_;  // guards what follows
    std::vector<Machine> machines_;
    Matches matches_;
    std::string problem_;
    Loop loop_;
};

}  // namespace rm
