#pragma once

#include "controller/core/state.h"

namespace rm {

// Checks whether a worker may join: protocol N or N-1, a node id, distinct device numbers, valid
// job ids, and this cluster's id or none. The error gives the worker's value and the right one.
Status check_hello(const Hello& hello, const ClusterId& cluster);

// Refuses epochs that no controller of this cluster can have issued: those that are neither below
// `next` nor believable.
Status check_epochs(const Hello& hello, Epoch next, WallTime now);

// The highest epoch that a hello may raise the next one to. It depends on the time alone, so that
// no sequence of hellos uses up the epochs, and it grows faster than attempts are made: epochs
// issued above it are below it a second later, also with older tables.
Epoch highest_believable(WallTime now);

}  // namespace rm
