#pragma once

#include "controller/core/outcome.h"

// Invariants that hold after every input (ARCHITECTURE.md, "Invariants"). Both functions throw
// CheckError.
namespace rm {

// Checks everything: at load and in tests.
void check_invariants(const State& state);
// Checks live and just changed things: after each apply, in production too.
void check_live_invariants(const State& state, const Changes& changes);

}  // namespace rm
