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

// Sleeps; false as soon as a stop is requested, also when that was before the call.
bool sleep_for(Seconds span, const std::stop_token& stop);

// A thread that calls a body again and again and sleeps in between: for periodic work, and for
// draining a queue. A thread that pushes calls wake() before it unlocks the queue: once unlocked,
// its item may be handled and the owner may be gone.
//
// - The body returns how long the thread sleeps before the next call, kUntilWoken, or kEnd.
// - No wake() is lost: after one that comes while the thread sleeps or while the body works, the
//   body is called once more and without a sleep. Several of them before that call are one.
// - A stop ends the sleep at once. A call that is under way goes on to its end; the body sees the
//   stop in its token. No further call follows, whatever has been woken.
// - `at_end` is called once, on the thread, after the last call of the body.
// - What the body throws ends the process, as in any thread.
//
// Any thread may call wake(), the loop's own too, while it holds locks that the body takes. Any
// thread but the loop's own may call stop(), several times and several at once; each call returns
// when the thread has ended, and nothing is called afterwards. The destructor stops.
//
// Make the loop the last member of its owner: the thread starts when the rest is there, and has
// ended before the rest goes.
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
