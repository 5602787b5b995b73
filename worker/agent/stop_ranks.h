#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace rm {

// Tells the shims of all attempts below `state_dir` to stop their ranks with a checkpoint and waits
// for their end: `grace`, after which shims kill, and a moment. Works with and without a daemon.
// Gives `say` a line for each attempt at its beginning and its end. The files that they leave are
// on disk when this returns. UNAVAILABLE: ranks were killed, had failed, or are left.
Status stop_ranks(const std::string& state_dir, Seconds grace,
                  const std::function<void(const std::string&)>& say);

}  // namespace rm
