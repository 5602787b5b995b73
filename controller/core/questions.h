#pragma once

#include <map>
#include <string>

#include "controller/core/job_files.h"
#include "controller/core/step.h"

// The controller's questions to workers that declare roots: about the files of pending jobs, and
// whether a root is one directory on several of them. Answers belong to a session; unanswered
// questions are repeated, and nothing is remembered over a restart.
namespace rm {

// Whether some question must be asked, repeated or given up.
bool questions_due(const State& state, WallTime steady);
void ask_questions(Step& step);
void ask_about(Step& step, const Job& job);  // this one alone

// Take the answers of a worker. Answers may be late, duplicated, or about questions that are no
// longer open.
void take_files(Step& step, const NodeId& node, const FilesChecked& checked);
void take_probed(Step& step, const NodeId& node, const RootProbed& probed);
void take_roots(Step& step, const NodeId& node, const RootsReport& report);

}  // namespace rm
