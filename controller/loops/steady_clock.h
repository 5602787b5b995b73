#pragma once

#include "base/clock.h"

namespace rm {

// The time that rules compare (Input::steady): the wall time at construction plus the monotonic
// time since, whatever happens to the wall clock.
class SteadyClock {
public:
    explicit SteadyClock(const Clock& clock)
        : clock_(clock), began_(clock.wall()), began_mono_(clock.mono()) {}

    WallTime now() const { return began_ + (clock_.mono() - began_mono_); }

private:
    const Clock& clock_;
    const WallTime began_;
    const MonoTime began_mono_;
};

}  // namespace rm
