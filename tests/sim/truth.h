#pragma once

#include <map>
#include <set>
#include <vector>

#include "controller/core/outcome.h"

// The true state of the cluster, whatever its parts believe, and its invariants. Each function
// records one event and throws CheckError when that event must not happen.
namespace rm::sim {

struct Checkpoint {
    Epoch epoch;
    std::int64_t step = 0;
    std::int64_t tokens = 0;  // seen by these weights
    auto operator<=>(const Checkpoint&) const = default;
};

class Truth {
public:
    // ---- processes
    void started(const DeviceId& device, Epoch epoch);
    void ended(const DeviceId& device, Epoch epoch);
    bool anything_runs() const { return !holders_.empty(); }

    // ---- roots: nodes with the same number have one checkpoint directory
    void keeps_checkpoints(const NodeId& node, int directory) { directories_[node] = directory; }

    // ---- the controller
    void created(const Attempt& attempt);  // from a plan, not yet durable
    void commanded(const NodeId& node, const NodeCommand& command, const State& durable) const;
    void committed(const State& durable, const Changes& changes);
    void loaded(const State& durable);
    void restored(const State& durable);
    // After the answer to a hello that follows a restore.
    void adopted(const Hello& hello, const State& state) const;

    // ---- clients
    void acknowledged(const RequestId& request, const JobId& job, const State& durable);
    const std::map<RequestId, JobId>& jobs() const { return acknowledged_; }

    // ---- workers
    void says_highest(const NodeId& node, Epoch highest) const;
    void remembers_highest(const NodeId& node, Epoch highest);

    // ---- results of attempts
    Checkpoint newest(const JobId& job) const;  // step 0: none
    void checkpoint(const JobId& job, const Checkpoint& parent, const Checkpoint& written);
    void may_publish(const JobId& job, Epoch epoch);
    void published(const JobId& job, Epoch epoch);
    void cannot_publish_any_more(Epoch epoch) { publishing_.erase(epoch); }

private:
    std::map<NodeId, int> directories_;
    std::map<DeviceId, Epoch> holders_;
    std::map<DeviceId, Epoch> highest_on_;
    std::set<Epoch> planned_;
    std::set<Epoch> issued_;
    std::map<JobId, JobState> ends_;
    std::map<RequestId, JobId> acknowledged_;
    std::map<NodeId, Epoch> highest_of_;
    std::map<JobId, std::vector<Checkpoint>> checkpoints_;
    std::map<Epoch, JobId> publishing_;
    std::map<JobId, Epoch> published_;
};

}  // namespace rm::sim
