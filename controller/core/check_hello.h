#pragma once

#include "controller/core/state.h"

namespace rm {

// Whether a worker may join: protocol N or N-1, a node id, devices with distinct numbers, jobs with
// ids that are ids, and of this cluster or of none. The refusal says what the worker has and what
// would be right.
Status check_hello(const Hello& hello, const ClusterId& cluster);

// Refuses epochs that no controller of this cluster can have given out: those that are neither
// below `next` nor believable.
Status check_epochs(const Hello& hello, Epoch next, WallTime now);

// The highest epoch that a hello may raise the next one to. It follows from the time alone, so that
// no sequence of hellos uses up the epochs, and it grows faster than attempts are made: those that
// were given out above it are below it a second later, also for tables of before.
Epoch highest_believable(WallTime now);

}  // namespace rm
