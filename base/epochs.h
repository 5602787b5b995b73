#pragma once

#include "base/ids.h"

namespace rm {

// Controllers count attempts up from 1 or, after a restore, from the seconds since 1970; a hello
// may raise that to less than half of this (controller/core/check_hello.h). A worker with a higher
// epoch on disk has damaged files.
constexpr Epoch kHighestEpoch{std::int64_t{1} << 56};

}  // namespace rm
