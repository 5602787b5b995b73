#pragma once

#include <string>

#include "controller/core/step.h"

// The handlers of apply(), one per input; one file per family. Private to the core.
namespace rm {

void handle(Step& step, const FoundCluster& input);       // apply_node.cc
void handle(Step& step, const Restored& input);           // apply_node.cc
void handle(Step& step, const SubmitJob& input);          // apply_job.cc
void handle(Step& step, const CancelJob& input);          // apply_job.cc
void handle(Step& step, const NodeHello& input);          // apply_node.cc
void handle(Step& step, const NodeSessionDown& input);    // apply_node.cc
void handle(Step& step, const NodeUnreachable& input);    // apply_node.cc
void handle(Step& step, const NodeGone& input);           // apply_node.cc
void handle(Step& step, const NodeRemoved& input);        // apply_node.cc
void handle(Step& step, const DrainNode& input);          // apply_node.cc
void handle(Step& step, const ResumeNode& input);         // apply_node.cc
void handle(Step& step, const AskToPublish& input);       // apply_publish.cc
void handle(Step& step, const NodeStatus& input);         // apply_status.cc
void handle(Step& step, const NodeRefused& input);        // apply_status.cc
void handle(Step& step, const PlanReady& input);          // apply_plan.cc
void handle(Step& step, const CommandsDue& input);        // apply_time.cc
void handle(Step& step, const StepMeasured& input);       // apply_status.cc
void handle(Step& step, const NodeDevices& input);        // apply_node.cc
void handle(Step& step, const NodeRoots& input);          // questions.cc
void handle(Step& step, const NodeFilesChecked& input);   // questions.cc
void handle(Step& step, const NodeRootProbed& input);     // root_probes.cc
void handle(Step& step, const LinkDrifted& input);        // apply_node.cc
void handle(Step& step, const DataAddressChosen& input);  // apply_node.cc
void handle(Step& step, const ShapesKnown& input);        // apply_node.cc

// A new attempt that carries out `plan`, with a rank on each device that the plan places.
Attempt planned_attempt(Epoch epoch, const JobId& job, const Plan& plan,
                        WallTime now);  // apply_plan.cc
// Adds attempts that this worker was commanded to run and that the tables have forgotten. The
// newest of a job continues; the others are told to stop. Their ranks on other nodes are filled in
// when those nodes say hello.
void adopt_unknown(Step& step, const Hello& hello);  // adopt.cc
// Records a worker's report about an attempt on its node and acts on it.
void take_status(Step& step, const NodeId& node, const AttemptStatus& status);  // apply_status.cc
enum class Boot { same, another };
// The worker's hello does not mention an attempt that has ranks on it.
void take_absence(Step& step, const NodeId& node, Epoch epoch, Boot boot);  // apply_status.cc

// Stops a live attempt, or stops it harder. The first cause is kept.
void stop_attempt(Step& step, Epoch epoch, StopReason reason, StopMode mode);  // attempt_end.cc
struct Failure {
    FailureClass kind = FailureClass::rank;
    int rank = -1;  // the rank that `cause` quotes; -1: none
    std::string cause;
};
// Fails a live attempt, which begins to stop. Later failures change nothing, except that an
// original cause replaces that of a rank which only lost a peer.
void fail_attempt(Step& step, Epoch epoch, const Failure& failure);  // attempt_end.cc
// Ends a live attempt at once although it may have processes left: the controller stops them when
// their worker reports again, and they hold their devices until then. An earlier cause takes
// precedence over `cause`.
void lose_attempt(Step& step, Epoch epoch, const std::string& cause);  // attempt_end.cc
// Ends a live attempt once no process is left, and concludes its job.
void end_if_cleared(Step& step, Epoch epoch);  // attempt_end.cc
// Records that nothing of the attempt is left on this node.
void clear_node(Step& step, const NodeId& node, Epoch epoch);  // apply_status.cc
// The machine no longer exists: the attempt's processes there are dead.
void take_gone(Step& step, const NodeId& node, Epoch epoch,
               const std::string& reason);  // apply_status.cc
// The attempts that may have processes on this node: live ones, and lost ones with processes left.
std::vector<Epoch> expected_on(const State& state, const NodeId& node);  // apply_node.cc

}  // namespace rm
