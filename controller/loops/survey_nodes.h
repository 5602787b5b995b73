#pragma once

#include <vector>

#include "controller/core/state.h"
#include "controller/survey/survey_run.h"

namespace rm {

// The nodes that can be probed now, in order of registration, each with all jobs that have ranks on
// it and the nodes that those send to.
std::vector<SurveyNode> survey_nodes(const State& state);

}  // namespace rm
