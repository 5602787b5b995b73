#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>

#include "base/fault.h"
#include "base/result.h"

namespace rm {

// Long work that somebody else watches: how far it has come, and whether it should give up. The
// watcher cannot know how long the work takes; it can see that it moves.
struct Activity {
    std::atomic<std::int64_t> done{0};  // bytes read or written, files removed: it only grows
    std::atomic<bool> cancelled{false};

    Status check() const {
        if (!cancelled) return {};
        return make_error(ErrorCode::cancelled, "given up: nobody waits for it any more");
    }
};

constexpr std::chrono::milliseconds kSlowPassage{100};

// A fault point that makes whoever passes it slow: what a busy or distant disk does.
inline void pass_slowly(Faults* faults, std::string_view point) {
    if (faults != nullptr && faults->fires(point)) std::this_thread::sleep_for(kSlowPassage);
}

}  // namespace rm
