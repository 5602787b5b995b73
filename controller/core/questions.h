#pragma once

#include <map>
#include <string>

#include "controller/core/job_files.h"
#include "controller/core/step.h"

// What the controller asks workers that declare roots: about the files of pending jobs, and
// whether a root is one directory on several of them. Answers are facts of a session; what is not
// answered is asked again, and nothing is remembered over a restart.
namespace rm {

// Some question is to be asked, or asked again, or given up.
bool questions_due(const State& state, WallTime steady);
void ask_questions(Step& step);
void ask_about(Step& step, const Job& job);  // this one alone

// A worker has answered, or its session has ended. All may be late, doubled or about what nobody
// asks any more.
void take_files(Step& step, const NodeId& node, const FilesChecked& checked);
void take_probed(Step& step, const NodeId& node, const RootProbed& probed);
void take_roots(Step& step, const NodeId& node, const RootsReport& report);

}  // namespace rm
