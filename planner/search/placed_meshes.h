#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule/clock.h"
#include "planner/search/search.h"
#include "topology/placement_cost.h"

namespace rm {

// Where the ranks of a mesh lie, and the links that its groups have there.
struct PlacedMesh {
    std::vector<Endpoint> placement;  // by rank
    LinkSpeeds links;
};

// How long a step's compute waits for the messages of an axis, in seconds.
double exposed_along(const Prediction& prediction, Axis axis);

// The same phases with the bytes that a plan's recorded schedule sends: those of an axis are shared
// among its phases in proportion.
StepTraffic recorded_bytes(StepTraffic traffic, const Prediction& prediction);

// Places the ranks of each sharding on a question's devices where a step waits least for its
// messages (planner/placement/solver.h). Deterministic. Borrows the question.
class PlacedMeshes {
public:
    explicit PlacedMeshes(const SearchQuestion& question);

    // Where a step communicates least: how much of it compute hides is not known yet. Solved once.
    const PlacedMesh& of(const Sharding& sharding);
    // Where a step waits least, if it sends what this plan's schedule does and compute hides as
    // much of each kind of message as in this plan.
    PlacedMesh again(const RankedPlan& plan) const;

private:
    bool is_given() const;
    StepTraffic traffic_of(const Sharding& sharding) const;
    PlacedMesh at(const Mesh& mesh, std::vector<Endpoint> placement) const;
    std::vector<Endpoint> solve(const Mesh& mesh, StepTraffic traffic, std::int64_t budget) const;

    const SearchQuestion& question_;
    const Routes routes_;
    std::vector<Endpoint> devices_;    // that may be used
    std::vector<Endpoint> forbidden_;  // all others
    bool alike_ = false;               // every pair of devices is joined by the same link
    std::map<std::pair<std::string, int>, PlacedMesh> placed_;  // by mesh and stage of ZeRO
};

}  // namespace rm
