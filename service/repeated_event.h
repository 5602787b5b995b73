#pragma once

#include <mutex>
#include <string>

#include "base/clock.h"
#include "service/log.h"

namespace rm {

// An event that may come every few seconds for days, such as a refused session. It is logged when
// its reason is a new one; the same reason again only after a pause that doubles from one minute to
// one hour, with how often it has come since it was logged last. Thread safe.
class RepeatedEvent {
public:
    explicit RepeatedEvent(std::string event) : event_(std::move(event)) {}

    // Whether it was logged.
    bool came(LogLevel level, const std::string& reason, MonoTime now);
    // All is well again: the next one is logged whatever its reason.
    void over();

private:
    const std::string event_;
    std::mutex mutex_;
    std::string reason_;
    MonoTime logged_;
    Seconds pause_;  // 0: nothing has come yet
    int unlogged_ = 0;
};

}  // namespace rm
