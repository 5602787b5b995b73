#pragma once

#include <string>
#include <variant>
#include <vector>

#include "controller/core/state.h"

// Everything that can change a State. Time, ids and random numbers arrive here and nowhere else.
namespace rm {

// The first input of a new database.
struct FoundCluster {
    ClusterId cluster;
};

// `spec` is valid. The job's id is drawn from `random`.
struct SubmitJob {
    RequestId request;
    JobSpec spec;
    std::string yaml;
    std::uint64_t random = 0;
    std::string owner = "default";
    JobId continues;  // empty: no other
};
struct CancelJob {
    JobId job;
    StopMode mode = StopMode::graceful;
};

// `reason` is for people. Attempts with ranks there stop with a checkpoint, unless
// `keep_running`, and their jobs go on elsewhere.
struct DrainNode {
    NodeId node;
    std::string reason;
    bool keep_running = false;
};
struct ResumeNode {
    NodeId node;
};
// An admin or a provider says that the machine no longer exists: nothing on it runs, and the core
// no longer waits for its devices. A hello brings the node back.
struct NodeGone {
    NodeId node;
    std::string reason;
};

// The first input of a controller whose tables were restored from a backup.
struct Restored {};

// Rank 0 of this attempt wants to put an export in its place. Granted once, to the newest attempt
// of its job, while no older one may still be doing the same; FAILED_PRECONDITION says why not.
struct AskToPublish {
    Epoch epoch;
};

// The beginning of a session; check_hello has passed.
struct NodeHello {
    Hello hello;
};
struct NodeSessionDown {
    NodeId node;
    Seconds silent = {};  // time since the last proof of life
};
// No session for kUnreachableAfter.
struct NodeUnreachable {
    NodeId node;
};

// Exits, checkpoints and finished stages follow from it.
struct NodeStatus {
    NodeId node;
    AttemptStatus status;
};
struct NodeRefused {
    NodeId node;
    CommandRefused refused;
};

// From a worker with declared roots: changes, and answers to the controller's questions.
struct NodeRoots {
    NodeId node;
    RootsReport report;
};
struct NodeFilesChecked {
    NodeId node;
    FilesChecked checked;
};
struct NodeRootProbed {
    NodeId node;
    RootProbed probed;
};

// A survey has found that a link fell far below its baseline, or came back. (Measurements
// themselves are no inputs.)
struct LinkDrifted {
    NodeId from;
    NodeId to;
    GbitPerSec baseline;
    GbitPerSec now;
    bool degraded = false;  // false: restored
};

// The planner's answer from a snapshot with this planning version: a plan, or all reasons against
// one.
struct PlanReady {
    JobId job;
    std::uint64_t version = 0;
    std::variant<Plan, Reasons> decision;
};

// Time has passed: commands whose acknowledgement is overdue are sent again, retries come due,
// stalled attempts fail and silent ones are lost.
struct CommandsDue {};

using InputBody = std::variant<FoundCluster, Restored, SubmitJob, CancelJob, NodeHello,
                               NodeSessionDown, NodeUnreachable, NodeGone, NodeStatus, NodeRefused,
                               DrainNode, ResumeNode, AskToPublish, PlanReady, CommandsDue,
                               NodeRoots, NodeFilesChecked, NodeRootProbed, LinkDrifted>;

struct Input {
    WallTime time;            // for people: jumps when the clock is set
    std::uint64_t token = 0;  // of the waiting caller; 0: none
    InputBody body;
    // For rules: the wall time at this controller's start and the monotonic time since. Across a
    // restart it is only as good as the wall clock.
    WallTime steady = {};
};

}  // namespace rm
