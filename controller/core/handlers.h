#pragma once

#include <string>

#include "controller/core/step.h"

// What apply() does with each input; one file per family. Private to the core.
namespace rm {

void handle(Step& step, const FoundCluster& input);     // apply_node.cc
void handle(Step& step, const Restored& input);         // apply_node.cc
void handle(Step& step, const SubmitJob& input);        // apply_job.cc
void handle(Step& step, const CancelJob& input);        // apply_job.cc
void handle(Step& step, const NodeHello& input);        // apply_node.cc
void handle(Step& step, const NodeSessionDown& input);  // apply_node.cc
void handle(Step& step, const NodeUnreachable& input);  // apply_node.cc
void handle(Step& step, const NodeGone& input);         // apply_drain.cc
void handle(Step& step, const DrainNode& input);        // apply_drain.cc
void handle(Step& step, const ResumeNode& input);       // apply_drain.cc
void handle(Step& step, const AskToPublish& input);     // apply_publish.cc
void handle(Step& step, const NodeStatus& input);       // apply_status.cc
void handle(Step& step, const NodeRefused& input);      // apply_status.cc
void handle(Step& step, const PlanReady& input);        // apply_plan.cc
void handle(Step& step, const CommandsDue& input);      // apply_plan.cc

// Takes over what a worker says about an attempt on its node, and draws the consequences.
void take_status(Step& step, const NodeId& node, const AttemptStatus& status);  // apply_status.cc
// The worker's hello does not mention an attempt that has ranks on it.
void take_absence(Step& step, const NodeId& node, Epoch epoch);  // apply_status.cc

// A live attempt begins to stop, or stops harder. The first cause is kept.
void stop_attempt(Step& step, Epoch epoch, StopReason reason, StopMode mode);  // attempt_end.cc
// A rank failed: `cause` is why, in its own words. Later failures change nothing, except that the
// first cause of its own replaces that of a rank which had only lost a peer.
void fail_attempt(Step& step, Epoch epoch, int rank, const std::string& cause);  // attempt_end.cc
// Ends the attempt, and its job, once no process is left.
void end_if_cleared(Step& step, Epoch epoch);  // attempt_end.cc

}  // namespace rm
