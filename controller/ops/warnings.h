#pragma once

#include <string>
#include <vector>

#include "controller/core/state.h"

namespace rm {

// Names what a submitter should look at, though the job is accepted: a kind of device that no node
// has ever offered, gone or not. A cluster without nodes gives no warnings.
std::vector<std::string> warnings_about(const State& state, const JobSpec& spec);

}  // namespace rm
