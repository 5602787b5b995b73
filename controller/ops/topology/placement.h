#pragma once

#include <string>
#include <vector>

#include "controller/core/state.h"
#include "controller/survey/link_book.h"
#include "ringmaster/v1/topology.pb.h"
#include "topology/placement_report.h"

// Reports the devices of an attempt's ranks and the cost of their communication. Pure: first takes
// the attempt's part of the state, then adds survey results.
namespace rm {

namespace pb = ringmaster::v1;

struct PlacedAttempt {
    JobId job;
    JobSpec spec;
    Epoch epoch;
    Mesh mesh;
    int zero = 0;
    std::vector<DeviceId> ranks;
    std::vector<HostOfNode> hosts;  // of nodes with ranks, by their first
    std::vector<NodeId> nodes;      // in order of registration; not gone, or with ranks
    std::vector<DeviceId> free;     // now; of the kind and build of the ranks, not excluded
};

// NOT_FOUND: no such job or attempt. FAILED_PRECONDITION: the job has no attempt yet, or a worker
// has not yet reported which ranks it has.
Result<PlacedAttempt> placed_attempt(const State& state, const pb::PlacementRequest& request);

// The attempt of the job with this epoch; 0: its newest. Errors as above.
Result<const Attempt*> find_placed(const State& state, const Job& job, std::int64_t epoch);

pb::PlacementReply describe_placement(const PlacedAttempt& attempt, const LinkBook& book);

}  // namespace rm
