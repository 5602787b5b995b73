#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/core/planning.h"

// The first planner: it measures nothing and searches little.
//  * Order: as the snapshot lists them, priority and then age. A job that could run on this cluster
//    but not now lets later ones pass, whatever their priority, until it has waited max_bypass;
//    then what is free of the kind that it is nearest to having is kept for it.
//  * A job that names its devices (`resources.placement`) runs on these, in its order; when it has
//    waited max_bypass they are kept for it.
//  * A job's excluded devices, drained nodes and nodes that have been without a session for
//    kUnreachableAfter are as if they were not there.
//  * Mesh: `parallel` as given; auto takes `resources.devices`, or else as many free devices of one
//    kind as possible, and puts as many of them on the ring as the context allows, the rest on
//    `data`. The ZeRO stage is the job's.
//  * Placement: ranks in mesh order on free devices of one kind and build, in order of
//    registration: `tensor`, the innermost axis, crosses nodes last; or as a Placer says.
//  * Chunk: as given, or the largest multiple of the tile up to 4096 tokens, at least one tile.
namespace rm {

struct PlanDecision {
    JobId job;
    std::variant<Plan, Reasons> decision;  // the reasons are never empty
};

// Which of the free devices (by registration) for which rank. Nothing: in their order.
using Placer = std::function<std::optional<std::vector<DeviceId>>(
    const JobSpec& spec, const Mesh& mesh, const std::vector<DeviceId>& free)>;

// One decision per pending job; plans do not overlap.
std::vector<PlanDecision> plan_trivially(const PlanningSnapshot& snapshot);
std::vector<PlanDecision> plan_placed(const PlanningSnapshot& snapshot, const Placer& placer);

// The mesh `auto` means for exactly `num_devices` devices: the longest ring that fits every stage,
// the rest on `data`. The error says why none fits.
Result<Mesh> auto_mesh(const JobSpec& spec, int num_devices);

}  // namespace rm
