#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>

#include "base/fault.h"
#include "base/result.h"

namespace rm {

// Long work that another thread watches: its progress, and whether it should give up. The watcher
// cannot know how long the work takes, but it can see that it advances.
struct Activity {
    std::atomic<std::int64_t> done{0};  // bytes read or written, files removed: it only grows
    std::atomic<bool> cancelled{false};

    Status check() const {
        if (!cancelled) return {};
        return make_error(ErrorCode::cancelled, "given up: nobody waits for it any more");
    }
};

constexpr std::chrono::milliseconds kSlowPassage{100};

// A fault point that slows down its caller, as a busy or distant disk does.
inline void pass_slowly(Faults* faults, std::string_view point) {
    if (faults != nullptr && faults->fires(point)) std::this_thread::sleep_for(kSlowPassage);
}

}  // namespace rm
