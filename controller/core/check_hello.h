#pragma once

#include "controller/core/state.h"

namespace rm {

// Whether a worker may join: protocol N or N-1, a node id, devices with distinct numbers, and of
// this cluster or of none. The refusal says what the worker has and what would be right.
Status check_hello(const Hello& hello, const ClusterId& cluster);

}  // namespace rm
