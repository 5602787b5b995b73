#include "worker/probe/prober.h"

#include "worker/probe/probe_client.h"

namespace rm {
namespace {

// The controller asks for one at a time; more is left over from an earlier session.
constexpr std::size_t kMaxQueued = 4;

}  // namespace

void Prober::start(OnReport on_report) {
    on_report_ = std::move(on_report);
    running_ = true;
    thread_ = std::thread([this] { work(); });
}

void Prober::stop() {
    {
        const std::lock_guard lock(mutex_);
        running_ = false;
        queue_.clear();
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void Prober::run(RunProbe probe) {
    const std::lock_guard lock(mutex_);
    if (!running_) return;
    queue_.push_back(std::move(probe));
    if (queue_.size() > kMaxQueued) queue_.pop_front();
    changed_.notify_all();
}

void Prober::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return !running_ || !queue_.empty(); });
        if (!running_) return;
        const RunProbe probe = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        on_report_(measure(probe));
        lock.lock();
    }
}

ProbeReport Prober::measure(const RunProbe& probe) {
    if (probe.kind == ProbeKind::link) return probe_link(probe);
    return {.id = probe.id, .inside = inside_->measure()};
}

}  // namespace rm
