#pragma once

#include <string>
#include <vector>

#include "controller/core/step.h"

// Measuring which nodes have one directory under a root's name: a node whose root was not compared
// yet writes a file, all others look for it, and who sees it has the same place. One probe of a
// root at a time; a node that does not answer is left out and compared another time.
namespace rm {

constexpr Seconds kProbeRepeated{10};  // a step that is not answered is asked for again
constexpr Seconds kProbeGivenUp{30};   // and then not waited for; a failed one begins anew

bool probes_due(const State& state, WallTime now);
void tend_probes(Step& step);
// What the node has answered about these roots was of what was mounted there before.
void forget_answers(Step& step, const NodeId& node, const std::vector<std::string>& roots);

}  // namespace rm
