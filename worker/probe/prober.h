#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/os/loop.h"
#include "spec/machine/probe.h"
#include "worker/probe/inside_probe.h"

namespace rm {

// Runs the probes that the controller asks for, one at a time, on a thread of its own.
class Prober {
public:
    using OnReport = std::function<void(const ProbeReport&)>;

    explicit Prober(std::unique_ptr<InsideProbe> inside) : inside_(std::move(inside)) {}

    // Reports go to `on_report`, on the prober's thread.
    void start(OnReport on_report);
    // Waits for the running probe and drops the queued ones. Idempotent.
    void stop();

    void run(RunProbe probe);  // queues it; drops it before start() and after stop()

private:
    Seconds measure_next();
    ProbeReport measure(const RunProbe& probe);

    const std::unique_ptr<InsideProbe> inside_;
    OnReport on_report_;
    std::mutex mutex_;
    std::deque<RunProbe> queue_;
    bool running_ = false;
    std::optional<Loop> loop_;
};

}  // namespace rm
