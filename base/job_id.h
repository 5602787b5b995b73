#pragma once

#include "base/ids.h"
#include "base/result.h"

// Job ids become parts of paths: ids from outside are checked before they are used.
namespace rm {

// A letter and five letters or digits, all lower case, as the controller generates them.
Status check_job_id(const JobId& id);

}  // namespace rm
