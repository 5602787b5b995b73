#pragma once

#include <map>
#include <string>

#include "controller/core/roots/job_files.h"
#include "controller/core/step.h"

// The controller's questions to workers that declare roots: about the files of pending jobs, and
// whether a root is one directory on several of them. Answers belong to a session; unanswered
// questions are repeated, and nothing is remembered over a restart.
namespace rm {

// Whether some question must be asked, repeated or given up.
bool questions_due(const State& state, WallTime steady);
void ask_questions(Step& step);
void ask_about(Step& step, const Job& job);  // this one alone

// The probes of roots measure which nodes have the same directory under a root's name: a node whose
// root was not compared yet writes a file, all others look for it, and those that see it share the
// place. One probe per root at a time; a node that does not answer is left out and compared later.
constexpr Seconds kProbeRepeated{10};  // repeat an unanswered step
constexpr Seconds kProbeGivenUp{30};   // end the probe; retry a failed one

bool probes_due(const State& state, WallTime now);
void tend_probes(Step& step);
// Drops the node's answers about these roots: they describe what was mounted before.
void forget_answers(Step& step, const NodeId& node, const std::vector<std::string>& roots);

}  // namespace rm
