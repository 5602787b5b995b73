#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace rm {

// Signs of life in memory that another process may read: when the last one came, and how far apart
// they usually are. Lock-free atomics only; zero-filled memory is a valid start. beat() may be
// called by any thread, the rest by one.
struct Pulse {
    static constexpr std::size_t kSteps = 8;  // "usual" looks back so far

    std::atomic<std::int64_t> beat_mono_nanos{0};  // CLOCK_MONOTONIC of the last beat; 0: none
    std::atomic<std::int64_t> num_steps{0};        // since the last forget()
    std::atomic<std::int64_t> longest_nanos{0};    // between two beats of the step under way
    std::array<std::atomic<std::int64_t>, kSteps> recent_nanos{};  // the same of the last steps

    void beat();
    // The time since the last beat was spent on something else than a step.
    void begin_step();
    void end_step();
    // The usual pause changes: none is known until the next end_step().
    void forget() { num_steps = 0; }

    // The longest pause of the last steps; 0: no step has ended yet.
    Seconds longest_pause() const;
};

}  // namespace rm
