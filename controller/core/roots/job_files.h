#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/core/state.h"
#include "planner/memory.h"
#include "spec/machine/roots.h"

// The files of a job on the nodes that declare roots: what the controller asks them, and what their
// answers mean for where the job may run. A node that declares none is trusted with every path that
// the job names, as on a laptop, and mixes only with nodes of that kind; but the default checkpoint
// directory, which the user did not name, counts as a different one on each machine. Nodes whose
// ranks cannot reach each other, since one announces its loopback address, do not mix either.
namespace rm {

// The controller stops waiting for a node that has not answered for this long.
constexpr Seconds kAnswerOverdue{10};
// The controller asks again when an answer is older, while some pending job needs it.
constexpr Seconds kAnswerKept{10};

struct FilesNeed {
    CheckFiles check;
    int copies = 0;                    // checkpoints that must fit at once: one more than are kept
    std::int64_t parameters = 0;       // of the model; 0: its files say
    std::int64_t parameter_bytes = 0;  // of one in a checkpoint: its weight and two moments
    std::int64_t most_parameters = 0;  // of model.from, for the devices there are; 0: any number
    std::string default_checkpoints;   // for a job that names no directory; empty: it names one
    bool operator==(const FilesNeed&) const = default;
};
FilesNeed files_needed(const State& state, const Job& job);

// The devices of the kind that the job asks for, on nodes that may come back.
UsableDevices devices_for(const State& state, const JobSpec& spec);

// Below the controller's own if the job names none; without the job's name.
const std::string& checkpoint_parent(const State& state, const Job& job);

// The directory of the job's checkpoints, for `checkpoint.from` and `--from`: only its ranks know
// its current contents. A reported checkpoint may have been pruned since, and newer ones may be
// unreported. Empty: no checkpoint was reported.
std::string checkpoints_of(const State& state, const Job& job);

bool declares_roots(const Node& node);  // in a session

// Whether some nodes must not share the ranks of some job; if none, there is nothing to ask.
bool nodes_differ(const State& state);

// Nodes with equal `place` may share the ranks of the job.
struct NodeFiles {
    Reason against;     // why it cannot be used; empty: it can
    std::string waits;  // the missing answer; empty: none
    std::string place;
};
NodeFiles files_on(const FilesNeed& need, const Node& node, WallTime now);

// All nodes, as a planner needs them. Empty where no node declares a root.
struct JobFiles {
    std::map<NodeId, NodeFiles> nodes;
    Reasons reasons;  // why not all of them can be used together
    Reason waits;     // for answers of these nodes; empty: none
    bool empty() const { return nodes.empty(); }
};
JobFiles job_files(const State& state, const FilesNeed& need, WallTime now);

}  // namespace rm
