#include "controller/session_clock.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

// Beats that fall due within a tick run together.
constexpr std::chrono::milliseconds kTick{50};

Seconds until(SteadyTime time) {
    const std::chrono::duration<double> span = time - std::chrono::steady_clock::now();
    return Seconds{std::max(span.count(), 0.0)};
}

}  // namespace

void SessionClock::add(std::weak_ptr<Beating> member, SteadyTime first) {
    const std::lock_guard lock(mutex_);
    const bool sooner = due_.empty() || first < due_.begin()->first;
    due_.emplace(first, std::move(member));
    if (sooner) loop_.wake();
}

Seconds SessionClock::beat_due(const std::stop_token& stop) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (Due due = take_due(now); !due.empty()) {
        beat_all(std::move(due), now);
        sleep_for(until(now + kTick), stop);
    }
    const std::lock_guard lock(mutex_);
    return due_.empty() ? Loop::kUntilWoken : until(due_.begin()->first);
}

SessionClock::Due SessionClock::take_due(SteadyTime now) {
    const std::lock_guard lock(mutex_);
    Due taken;
    while (!due_.empty() && due_.begin()->first <= now)
        taken.insert(due_.extract(due_.begin()));
    return taken;
}

void SessionClock::beat_all(Due due, SteadyTime now) {
    for (auto& [time, member] : due) {
        const std::shared_ptr<Beating> beating = member.lock();
        if (!beating) continue;
        const SteadyTime next = beating->beat(now);
        if (next != SteadyTime::max()) add(std::move(member), next);
    }
}

}  // namespace rm
