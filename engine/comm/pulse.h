#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace rm {

// Records signs of life in memory that another process may read: the time of the latest one and the
// usual pause between them. Lock-free atomics only; zero-filled memory is a valid start. Any thread
// may call beat(), one thread the rest.
struct Pulse {
    static constexpr std::size_t kSteps = 8;  // the usual pause covers this many steps

    std::atomic<std::int64_t> beat_mono_nanos{0};  // CLOCK_MONOTONIC of the last beat; 0: none
    std::atomic<std::int64_t> num_steps{0};        // since the last forget()
    std::atomic<std::int64_t> longest_nanos{0};    // between two beats of the step under way
    std::array<std::atomic<std::int64_t>, kSteps> recent_nanos{};  // the same of the last steps

    void beat();
    // The time since the last beat does not count as a pause.
    void begin_step();
    void end_step();
    // Drops the usual pause; the next end_step() gives a new one.
    void forget() { num_steps = 0; }

    // The longest pause of the last steps; 0: no step has ended yet.
    Seconds longest_pause() const;
};

}  // namespace rm
