#include "controller/loops/clock_loop.h"

#include <chrono>

#include "controller/core/due_effects.h"
#include "controller/core/due_times.h"

namespace rm {

ClockLoop::ClockLoop(ControlLoop& control, Seconds interval)
    : control_(control), interval_(interval), thread_([this] { run(); }) {}

ClockLoop::~ClockLoop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

void ClockLoop::run() {
    std::unique_lock lock(mutex_);
    const auto interval = std::chrono::duration<double>(interval_.value);
    while (!changed_.wait_for(lock, interval, [&] { return stopping_; })) {
        lock.unlock();
        tick();
        lock.lock();
    }
}

void ClockLoop::tick() {
    const WallTime now = control_.steady_now();
    const auto [overdue, due] = control_.read([&](const State& state) {
        const bool due = !due_commands(state, now).empty() || !due_times(state, now).empty();
        return std::pair(overdue_nodes(state, now), due);
    });
    for (const NodeId& node : overdue)
        control_.post(NodeUnreachable{node});
    if (due) control_.post(CommandsDue{});
}

}  // namespace rm
