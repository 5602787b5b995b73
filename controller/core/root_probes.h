#pragma once

#include <string>
#include <vector>

#include "controller/core/step.h"

// Measures which nodes have the same directory under a root's name: a node whose root was not
// compared yet writes a file, all others look for it, and those that see it share the place. One
// probe per root at a time; a node that does not answer is left out and compared later.
namespace rm {

constexpr Seconds kProbeRepeated{10};  // repeat an unanswered step
constexpr Seconds kProbeGivenUp{30};   // end the probe; retry a failed one

bool probes_due(const State& state, WallTime now);
void tend_probes(Step& step);
// Drops the node's answers about these roots: they describe what was mounted before.
void forget_answers(Step& step, const NodeId& node, const std::vector<std::string>& roots);

}  // namespace rm
