#pragma once

#include "worker/dir/attempt_dir.h"

namespace rm {

// A rank process calls this first: from then on the kernel kills it when its shim ends for any
// reason. FAILED_PRECONDITION when the shim has ended already.
Status tie_to_shim(const AttemptDir& dir);

}  // namespace rm
