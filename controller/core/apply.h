#pragma once

#include "controller/core/input.h"
#include "controller/core/outcome.h"

namespace rm {

// The controller's one transition function. Pure: the same state and input give the same outcome.
// Throws CheckError when an invariant is broken afterwards, which must end the process.
Outcome apply(State& state, const Input& input);

}  // namespace rm
