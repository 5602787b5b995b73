#include "worker/probe/prober.h"

#include <utility>

#include "worker/probe/probe_client.h"

namespace rm {
namespace {

// The controller requests one probe at a time; more are left over from an earlier session.
constexpr std::size_t kMaxQueued = 4;

}  // namespace

void Prober::start(OnReport on_report) {
    on_report_ = std::move(on_report);
    loop_.emplace([this](auto&) { return measure_next(); });
    const std::lock_guard lock(mutex_);
    running_ = true;
}

void Prober::stop() {
    {
        const std::lock_guard lock(mutex_);
        running_ = false;
        queue_.clear();
    }
    if (loop_) loop_->stop();
}

void Prober::run(RunProbe probe) {
    const std::lock_guard lock(mutex_);
    if (!running_) return;
    queue_.push_back(std::move(probe));
    if (queue_.size() > kMaxQueued) queue_.pop_front();
    loop_->wake();
}

Seconds Prober::measure_next() {
    RunProbe probe;
    {
        const std::lock_guard lock(mutex_);
        if (queue_.empty()) return Loop::kUntilWoken;
        probe = std::move(queue_.front());
        queue_.pop_front();
    }
    on_report_(measure(probe));
    return {};
}

ProbeReport Prober::measure(const RunProbe& probe) {
    if (probe.kind == ProbeKind::link) return probe_link(probe);
    Result<InsideFindings> found = inside_->measure();
    if (!found) return {.id = probe.id, .error = found.error().message};
    return {
        .id = probe.id, .inside = std::move(found->samples), .bridges = std::move(found->bridges)};
}

}  // namespace rm
