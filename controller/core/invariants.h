#pragma once

#include "controller/core/outcome.h"

// What must hold after every input (ARCHITECTURE.md, "Invariants"). Both throw CheckError.
namespace rm {

// Everything: at load and in tests.
void check_invariants(const State& state);
// What lives and what was just changed: after each apply, in production too.
void check_live_invariants(const State& state, const Changes& changes);

}  // namespace rm
