#pragma once

#include <string>
#include <vector>

#include "engine/dry_run/predict.h"
#include "planner/plan_shape.h"
#include "spec/cost/cost.h"
#include "spec/plan.h"

// A plan that was made, in detail and for people: what a step of it does over time, and how the
// other meshes of the job compare. Deterministic.
namespace rm {

constexpr std::size_t kStepParts = 512;

// A step of the stage with the longest context, on one rank, the last of its ring. Vectors have
// kStepParts entries, one for each of as many equal parts of its time.
struct PlannedStep {
    struct Stream {
        std::string name;
        std::vector<double> busy;  // the share of each part in which it works
    };
    bool timed = false;           // else each request and release of a buffer counts as one
    double length = 0;            // seconds, or requests and releases
    bool links_measured = false;  // else messages take next to no time
    std::string kind;             // of the devices
    Bytes device_capacity, host_capacity;  // 0: not known
    MemoryReport state;                    // there all the time
    Bytes held;                            // by libraries and driver
    ArenaPrediction device_arena, host_arena;
    std::vector<Bytes> device, host;  // the most bytes of each part that live in the arenas
    std::vector<Stream> streams;      // none unless timed
};

// A way to share the job's work.
struct RankedMesh {
    Mesh mesh;
    int zero = 0;
    bool chosen = false;       // by the plan
    PlanPrediction predicted;  // zeros: it is not ranked
    MemoryPolicy memory;       // likewise
    double causal_mfu = 0;     // 0: not known
    double fp8_mfu = 0;        // 0: not known, or the job does not compute in FP8
    RunCost cost;              // of all steps; zeros: it has no rates
    std::string passed_over;   // why it is not ranked
};

struct MeshRanking {
    std::string kind;  // of the devices; empty: the job could not be planned
    int devices = 0;   // ranks
    int considered = 0;
    std::vector<RankedMesh> meshes;  // the fastest first, then some that are not ranked
    Reasons reasons;                 // why only the plan's own mesh is there
};

// A dry run of the plan `recorded` of the snapshot's one job, whose devices the snapshot has.
// Errors: none can be made, and why.
Result<PlannedStep> planned_step(const PlanningSnapshot& snapshot, const Plan& recorded);

// The search that the question asks for, with the plan's own mesh among its meshes.
MeshRanking rank_meshes(const ShapeQuestion& question, const Plan& recorded);
// The plan's own mesh alone, and why.
MeshRanking own_mesh(const Plan& recorded, Reasons reasons);

}  // namespace rm
