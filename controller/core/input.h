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
};
struct CancelJob {
    JobId job;
    StopMode mode = StopMode::graceful;
};

// The beginning of a session; check_hello has passed.
struct NodeHello {
    Hello hello;
};
struct NodeSessionDown {
    NodeId node;
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

// The planner's answer from a snapshot with this planning version: a plan, or every reason against.
struct PlanReady {
    JobId job;
    std::uint64_t version = 0;
    std::variant<Plan, std::vector<std::string>> decision;
};

// Time has passed: commands whose acknowledgement is overdue are sent again.
struct CommandsDue {};

using InputBody = std::variant<FoundCluster, SubmitJob, CancelJob, NodeHello, NodeSessionDown,
                               NodeUnreachable, NodeStatus, NodeRefused, PlanReady, CommandsDue>;

struct Input {
    WallTime time;
    std::uint64_t token = 0;  // of who waits for the answer; 0: nobody
    InputBody body;
};

constexpr Seconds kUnreachableAfter{60};

}  // namespace rm
