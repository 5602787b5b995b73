#include "controller/session_clock.h"

#include <utility>

namespace rm {
namespace {

// What falls due within a tick is done in one go.
constexpr std::chrono::milliseconds kTick{50};

}  // namespace

SessionClock::~SessionClock() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

void SessionClock::add(std::weak_ptr<Beating> member, SteadyTime first) {
    const std::lock_guard lock(mutex_);
    const bool sooner = due_.empty() || first < due_.begin()->first;
    due_.emplace(first, std::move(member));
    if (sooner) changed_.notify_one();
}

void SessionClock::run() {
    while (true) {
        const SteadyTime now = std::chrono::steady_clock::now();
        beat_all(take_due(now), now);
        std::unique_lock lock(mutex_);
        if (changed_.wait_until(lock, now + kTick, [this] { return stopping_; })) return;
        const auto sleeps = [this] { return due_.empty() && !stopping_; };
        changed_.wait(lock, [&] { return !sleeps(); });
        while (!stopping_ && due_.begin()->first > std::chrono::steady_clock::now())
            changed_.wait_until(lock, SteadyTime(due_.begin()->first));
        if (stopping_) return;
    }
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
