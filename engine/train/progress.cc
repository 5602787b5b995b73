#include "engine/train/progress.h"

#include <array>

namespace rm {
namespace {

struct PhaseFacts {
    Phase phase;
    std::string_view name;
    bool of_a_step = false;
};

constexpr std::array kPhases = {
    PhaseFacts{Phase::starting, "starting"},
    PhaseFacts{Phase::data, "data", true},
    PhaseFacts{Phase::forward, "forward", true},
    PhaseFacts{Phase::backward, "backward", true},
    PhaseFacts{Phase::reduce, "reduce", true},
    PhaseFacts{Phase::optimizer, "optimizer", true},
    PhaseFacts{Phase::checkpoint, "checkpoint"},
    PhaseFacts{Phase::evaluation, "evaluation"},
    PhaseFacts{Phase::done, "done"},
    PhaseFacts{Phase::loading, "loading"},
    PhaseFacts{Phase::exporting, "exporting"},
};

// A page of another build may hold any number.
PhaseFacts facts_of(Phase phase) {
    for (const PhaseFacts& facts : kPhases) {
        if (facts.phase == phase) return facts;
    }
    return {phase, "?"};
}

}  // namespace

std::string_view to_string(Phase phase) {
    return facts_of(phase).name;
}

bool is_of_a_step(Phase phase) {
    return facts_of(phase).of_a_step;
}

}  // namespace rm
