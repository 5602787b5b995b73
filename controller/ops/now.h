#pragma once

#include "base/clock.h"

namespace rm {

// One moment by both times of Input: wall time for people, and the steady time of rules.
struct Now {
    WallTime wall;
    WallTime steady;

    // The wall time at a steady time, unless the clock is set.
    WallTime shown(WallTime time) const { return wall + (time - steady); }
};

}  // namespace rm
