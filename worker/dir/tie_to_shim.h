#pragma once

#include "worker/dir/attempt_dir.h"

namespace rm {

// Called first by a rank process: from now on it is killed when its shim ends, however that comes
// about. FAILED_PRECONDITION when the shim has ended already.
Status tie_to_shim(const AttemptDir& dir);

}  // namespace rm
