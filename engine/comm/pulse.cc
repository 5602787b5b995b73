#include "engine/comm/pulse.h"

#include <algorithm>
#include <chrono>

namespace rm {
namespace {

std::int64_t mono_nanos() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

void Pulse::beat() {
    const std::int64_t now = mono_nanos();
    const std::int64_t before = beat_mono_nanos.exchange(now);
    const std::int64_t pause = before == 0 ? 0 : now - before;
    std::int64_t longest = longest_nanos.load();
    while (pause > longest && !longest_nanos.compare_exchange_weak(longest, pause)) {
    }
}

void Pulse::begin_step() {
    beat_mono_nanos = mono_nanos();
    longest_nanos = 0;
}

void Pulse::end_step() {
    beat();
    const auto step = usize(num_steps.load());
    recent_nanos[step % kSteps] = longest_nanos.exchange(0);
    ++num_steps;
}

Seconds Pulse::longest_pause() const {
    const auto steps = std::min(kSteps, usize(num_steps.load()));
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < steps; ++i)
        longest = std::max(longest, recent_nanos[i].load());
    return {static_cast<double>(longest) * 1e-9};
}

}  // namespace rm
