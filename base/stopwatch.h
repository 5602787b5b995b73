#pragma once

#include <chrono>

namespace rm {

// Time since construction, by a steady clock. For measuring only: state machines receive the time
// as an argument (base/clock.h).
class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin_ = Clock::now();
};

}  // namespace rm
