#pragma once

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/units.h"

namespace rm {

// Sleeps; returns false as soon as a stop is requested, even if that was before the call.
bool sleep_for(Seconds span, const std::stop_token& stop);

// A thread that calls a body repeatedly and sleeps in between: for periodic work, and for draining
// a queue. A producer calls wake() before it unlocks the queue: once unlocked, its item may be
// handled and the loop's owner may be destroyed.
//
// - The body returns how long the thread sleeps before the next call, kUntilWoken, or kEnd.
// - No wake() is lost: after one that comes while the thread sleeps or while the body works, the
//   body is called once more and without a sleep. Several wakes before that call count as one.
// - A stop ends the sleep at once. A running call finishes; the body sees the stop in its token. No
//   further call follows, even after a wake().
// - `at_end` is called once, on the thread, after the last call of the body.
// - An exception from the body ends the process, as in any thread.
//
// Any thread, the loop's own included, may call wake(), even while it holds locks that the body
// takes. Any thread but the loop's own may call stop(), several times and several at once; each
// call returns when the thread has ended, and nothing is called afterwards. The destructor stops.
//
// Make the loop the last member of its owner: the thread starts after the other members are
// constructed, and ends before they are destroyed.
class Loop {
public:
    static constexpr Seconds kUntilWoken{std::numeric_limits<double>::infinity()};
    static constexpr std::nullopt_t kEnd = std::nullopt;
    using Body = std::function<std::optional<Seconds>(const std::stop_token&)>;

    // Sleeps for `first` before the first call.
    explicit Loop(Body body, Seconds first = {}, std::function<void()> at_end = {});

    void wake();
    void stop();

private:
    void run(Seconds first, const std::stop_token& stop);
    bool sleep(Seconds span, const std::stop_token& stop);  // false: stopped

    const Body body_;
    const std::function<void()> at_end_;
    std::mutex mutex_;
    std::condition_variable_any woke_;
    bool woken_ = false;
    std::once_flag joined_;
    std::jthread thread_;  // last: see above
};

}  // namespace rm
