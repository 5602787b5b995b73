#pragma once

#include "base/ids.h"
#include "base/result.h"

// Ids of jobs become parts of paths: what comes from outside is checked before it is used.
namespace rm {

// A letter and five letters or digits, all lower case, as the controller draws them.
Status check_job_id(const JobId& id);

}  // namespace rm
