#pragma once

#include "planner/pools.h"

namespace rm {

// Says why a job does not start now, and what would help; never empty. `candidates` are those of
// `pools` that have the kind it asks for.
Reasons reasons_against(const JobSpec& spec, const std::vector<Pool>& pools,
                        const std::vector<const Pool*>& candidates);

}  // namespace rm
