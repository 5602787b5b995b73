#pragma once

#include "controller/core/input.h"
#include "controller/core/outcome.h"

namespace rm {

// The controller's one transition function. Pure: the same state and input give the same outcome.
// Throws CheckError when an invariant is broken afterwards, which must end the process.
Outcome apply(State& state, const Input& input);

// Invariants that hold after every input (ARCHITECTURE.md, "Invariants"). Both functions throw
// CheckError. The first checks everything: at load and in tests.
void check_invariants(const State& state);
// Checks what is live or just changed: after each apply, in production too.
void check_live_invariants(const State& state, const Changes& changes);

}  // namespace rm
