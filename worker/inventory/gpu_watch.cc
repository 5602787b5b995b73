#include "worker/inventory/gpu_watch.h"

#include <algorithm>

#include "service/gpu/fitness.h"

namespace rm {

DevicesReport fitness_of(const std::vector<GpuReading>& readings) {
    DevicesReport report;
    for (const GpuReading& reading : readings)
        report.devices.push_back({reading.index, reading.unfit, reading.lost});
    return report;
}

GpuWatch::GpuWatch(std::unique_ptr<Gpus> gpus, const std::vector<int>& offered)
    : gpus_(std::move(gpus)) {
    for (const Gpu& gpu : gpus_->list()) {
        const bool is_offered =
            std::find(offered.begin(), offered.end(), gpu.index) != offered.end();
        if (is_offered) watched_[gpu.index] = {.facts = gpu.facts, .memory = gpu.memory};
    }
    look({});
}

void GpuWatch::start(Listener listener, Seconds interval) {
    listener_ = std::move(listener);
    listener_(readings());
    loop_ = std::make_unique<Loop>(
        [this, interval](const std::stop_token&) {
            look(interval);
            listener_(readings());
            return interval;
        },
        interval);
}

void GpuWatch::stop() {
    loop_.reset();
}

void GpuWatch::set_held(std::set<int> held) {
    const std::lock_guard lock(mutex_);
    held_ = std::move(held);
}

std::vector<GpuReading> GpuWatch::readings() const {
    const std::lock_guard lock(mutex_);
    return readings_;
}

void GpuWatch::look(Seconds since) {
    std::set<int> held;
    {
        const std::lock_guard lock(mutex_);
        held = held_;
    }
    std::map<int, std::vector<int>> xids;
    for (const GpuXid& reported : gpus_->take_xids())
        xids[reported.index].push_back(reported.xid);
    std::vector<GpuReading> readings;
    for (auto& [index, watched] : watched_) {
        readings.push_back(look_at(index, watched, xids[index], held.contains(index)));
        readings.back().since = since;
    }
    const std::lock_guard lock(mutex_);
    readings_ = std::move(readings);
}

GpuReading GpuWatch::look_at(int index, Watched& watched, const std::vector<int>& new_xids,
                             bool held) {
    for (const int xid : new_xids) {
        if (is_hardware_xid(xid)) watched.hardware_xids.insert(xid);
    }
    GpuReading reading{.index = index,
                       .facts = watched.facts,
                       .memory = watched.memory,
                       .state = gpus_->state(index),
                       .new_xids = new_xids};
    // The memory of a rank that has just ended may still show: others are believed at the second
    // look.
    const bool is_busy = !held && !reading.state.processes.empty();
    reading.unfit =
        unfit_reason(reading.state, watched.hardware_xids, held || (is_busy && !watched.was_busy));
    watched.was_busy = is_busy;
    reading.lost = reading.state.lost || watched.hardware_xids.contains(kXidOffTheBus);
    return reading;
}

}  // namespace rm
