#include "controller/core/apply.h"

#include "controller/core/handlers.h"
#include "controller/core/invariants.h"

namespace rm {

Outcome apply(State& state, const Input& input) {
    Step step(state, input);
    std::visit([&](const auto& body) { handle(step, body); }, input.body);
    Outcome outcome = step.finish();
    check_live_invariants(state, outcome.changes);
    return outcome;
}

}  // namespace rm
