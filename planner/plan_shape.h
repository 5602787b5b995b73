#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "planner/snapshot.h"
#include "spec/plan.h"

// How an admitted job shares its work and uses memory: the part of a plan that a search can improve
// (planner/search/choose_shape.h).
namespace rm {

struct ShapeQuestion {
    const PlanningSnapshot& snapshot;
    const JobSpec& spec;
    Mesh mesh;  // the job's, or with `parallel: auto` the longest ring that fits every stage
    const std::vector<const PlanningDevice*>& free;  // of one pool; at least one per rank
    double spent_usd = 0;                            // by earlier attempts
};

struct PlanShape {
    Mesh mesh;  // of as many ranks as the question's
    int zero = 0;
    MemoryPolicy memory;
    PlanPrediction predicted = {};
    std::vector<DeviceId> placement = {};  // by rank; empty: not chosen yet
};
using ShapeDecision = std::variant<PlanShape, Reasons>;  // why no shape fits; never empty
using ShapeChooser = std::function<ShapeDecision(const ShapeQuestion&)>;

// The question's mesh, the job's stage of ZeRO and resolve_memory's policy: all that can be said
// where devices were not measured.
ShapeDecision shape_by_rule(const ShapeQuestion& question);

}  // namespace rm
