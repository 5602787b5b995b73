#include "controller/core/handlers.h"

namespace rm {
namespace {

std::vector<Field> fields_of(const LinkDrifted& drift) {
    return {{"from", drift.from.value},
            {"to", drift.to.value},
            {"baseline_gbit_per_s", format("{:.3}", drift.baseline.value)},
            {"gbit_per_s", format("{:.3}", drift.now.value)}};
}

// The subjects that it affects: the attempts that may use the link, or else the sending node.
std::vector<std::string> subjects_of(const State& state, const LinkDrifted& drift) {
    std::vector<std::string> subjects;
    for (const Attempt* attempt : live_attempts(state)) {
        const std::set<NodeId> nodes = attempt->nodes();
        const bool uses = nodes.contains(drift.from) && nodes.contains(drift.to);
        if (uses) subjects.push_back(subject_of(*attempt));
    }
    if (subjects.empty()) subjects.push_back(subject_of(state.nodes.at(drift.from)));
    return subjects;
}

}  // namespace

void handle(Step& step, const LinkDrifted& input) {
    const State& state = step.state();
    const std::pair ends{input.from, input.to};
    const bool known =
        find_node(state, input.from) != nullptr && find_node(state, input.to) != nullptr;
    // A repeated report changes nothing.
    if (!known || state.degraded_links.contains(ends) == input.degraded) return;
    step.change_links([&](auto& links) {
        if (input.degraded) {
            links[ends] = {input.baseline, input.now, step.now()};
        } else {
            links.erase(ends);
        }
    });
    const std::string what = input.degraded ? "link_degraded" : "link_restored";
    for (const std::string& subject : subjects_of(state, input)) {
        const std::string kind = subject.substr(0, subject.find('/'));
        step.note(format("{}.{}", kind, what), subject, fields_of(input));
    }
    step.planning_changed();
}

}  // namespace rm
