#pragma once

#include <functional>
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
// `keep_running`, and their jobs continue elsewhere.
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

// Gone for good: its certificates are not accepted any more, so it cannot come back. Its session
// has ended.
struct NodeRemoved {
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
// Which of its devices jobs may use has changed.
struct NodeDevices {
    NodeId node;
    DevicesReport report;
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
// themselves are not inputs.)
struct LinkDrifted {
    NodeId from;
    NodeId to;
    GbitPerSec baseline;
    GbitPerSec now;
    bool degraded = false;  // false: restored
};

// A survey has found a better one of the addresses that the node offers.
struct DataAddressChosen {
    NodeId node;
    std::string address;
};

// The provider's shapes of the nodes' machines, as of its last list.
struct ShapesKnown {
    std::map<NodeId, std::string> shapes;
};

// The planner's answer from a snapshot with this planning version: a plan, or all reasons against
// one.
struct PlanReady {
    JobId job;
    std::uint64_t version = 0;
    std::variant<Plan, Reasons> decision;
};

// The median step of a predicted attempt, from what its rank 0 has reported.
struct StepMeasured {
    Epoch epoch;
    Seconds step;
};

// Time has passed: commands whose acknowledgement is overdue are sent again, retries come due,
// stalled attempts fail and silent ones are lost.
struct CommandsDue {};

using InputBody =
    std::variant<FoundCluster, Restored, SubmitJob, CancelJob, NodeHello, NodeSessionDown,
                 NodeUnreachable, NodeGone, NodeRemoved, NodeStatus, NodeRefused, DrainNode,
                 ResumeNode, AskToPublish, PlanReady, CommandsDue, NodeRoots, NodeDevices,
                 NodeFilesChecked, NodeRootProbed, LinkDrifted, DataAddressChosen, ShapesKnown,
                 StepMeasured>;

struct Input {
    WallTime time;            // for people: jumps when the clock is set
    std::uint64_t token = 0;  // of the waiting caller; 0: none
    InputBody body;
    // For rules: the wall time at this controller's start and the monotonic time since. Across a
    // restart it is only as good as the wall clock.
    WallTime steady = {};
};

// One moment by both times of an Input: wall time for people, and the steady time of rules.
struct Now {
    WallTime wall;
    WallTime steady;

    // The wall time at a steady time, unless the clock is set.
    WallTime shown(WallTime time) const { return wall + (time - steady); }
};

// Checks whether a worker may join: protocol N or N-1, a node id, distinct device numbers, valid
// job ids, and this cluster's id or none. The error gives the worker's value and the right one.
Status check_hello(const Hello& hello, const ClusterId& cluster);

// Refuses epochs that no controller of this cluster can have issued: those that are neither below
// `next` nor believable.
Status check_epochs(const Hello& hello, Epoch next, WallTime now);

// The highest epoch that a hello may raise the next one to. It depends on the time alone, so that
// no sequence of hellos uses up the epochs, and it grows faster than attempts are made: epochs
// issued above it are below it a second later, also with older tables.
Epoch highest_believable(WallTime now);

// Called once, after the input's event is durable; on the control thread, so it must be quick.
using OnAnswer = std::function<void(Result<JobId>)>;

// Where inputs go. Thread safe; inputs of one thread are applied in the order they were posted.
class InputSink {
public:
    virtual ~InputSink() = default;
    virtual void post(InputBody body, OnAnswer on_answer) = 0;
    void post(InputBody body) { post(std::move(body), nullptr); }
};

}  // namespace rm
