#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace rm {

class InjectedFault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Faults planted on purpose, by name: "checkpoint.rename@2,transport.send" fires the second time
// the first point is passed, and every time the second is. Owned by main() (RM_FAULTS) or a test
// and passed to the code that checks it. Thread safe.
class Faults {
public:
    Faults() = default;
    static Result<std::map<std::string, int>> parse(std::string_view text);
    explicit Faults(std::map<std::string, int> points) : points_(std::move(points)) {}

    bool fires(std::string_view point);
    // Throws InjectedFault when the point fires.
    void pass(std::string_view point);

private:
    std::mutex mutex_;
    std::map<std::string, int> points_;  // 0: always; n: the n-th passage
    std::map<std::string, int, std::less<>> passed_;
};

// Long work that another thread watches: its progress, and whether it should give up. The watcher
// cannot know how long the work takes, but it can see that it advances.
struct Activity {
    std::atomic<std::int64_t> done{0};  // bytes read or written, files removed: it only grows
    std::atomic<bool> cancelled{false};

    Status check() const {
        if (!cancelled) return {};
        return make_error(ErrorCode::cancelled, "given up: no caller waits for it any more");
    }
};

constexpr std::chrono::milliseconds kSlowPassage{100};

// A fault point that slows down its caller like a busy or distant disk.
inline void pass_slowly(Faults* faults, std::string_view point) {
    if (faults != nullptr && faults->fires(point)) std::this_thread::sleep_for(kSlowPassage);
}

}  // namespace rm
