#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/units.h"

namespace rm {

// "Something changed": a counter that streaming calls wait on. Thread safe.
class UpdateSignal {
public:
    void notify() {
        const std::lock_guard lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    std::uint64_t count() const {
        const std::lock_guard lock(mutex_);
        return count_;
    }
    // Returns when the count is no longer `seen`, or after `timeout`.
    void wait(std::uint64_t seen, Seconds timeout) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::duration<double>(timeout.value),
                          [&] { return count_ != seen; });
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t count_ = 0;
};

}  // namespace rm
