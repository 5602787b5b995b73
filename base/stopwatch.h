#pragma once

#include <chrono>

namespace rm {

// Wall time since it was made, of a clock that nobody sets. For measuring: what a state machine
// knows of time arrives as an argument (base/clock.h).
class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin_ = Clock::now();
};

}  // namespace rm
