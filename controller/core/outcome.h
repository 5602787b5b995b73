#pragma once

#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "controller/core/event.h"

// The result of applying one input, besides the changed State.
namespace rm {

using NodeCommand = std::variant<LaunchAttempt, StopAttempt, ForgetAttempt, CheckFiles, ProbeRoot>;

struct SendToNode {
    NodeId node;
    NodeCommand command;
};
// The answer to the input with this token.
struct Reply {
    std::uint64_t token = 0;
    Result<JobId> result{JobId{}};  // empty where the input was not about a job
};
// Requests plans for every pending job, from a snapshot taken after this.
struct RequestPlan {};

using Effect = std::variant<Reply, SendToNode, RequestPlan>;

// A job's change from one state to the next, for metrics.
struct Transition {
    JobId job;
    JobState from = JobState::pending;
    JobState to = JobState::pending;
    Seconds waited;  // of a job that starts: since its submission or the end of its last attempt
};

// The rows that differ from those on disk.
struct Changes {
    bool meta = false;
    std::set<JobId> jobs;
    std::set<Epoch> attempts;
    std::set<NodeId> nodes;
    std::set<ProfileKey> profiles;

    bool empty() const {
        return !meta && jobs.empty() && attempts.empty() && nodes.empty() && profiles.empty();
    }
    void merge(const Changes& other);
};

struct Outcome {
    std::vector<AuditEvent> events;
    std::vector<Effect> effects;  // replies first
    std::vector<Transition> transitions;
    Changes changes;
};

}  // namespace rm
