#pragma once

#include <memory>
#include <vector>

#include "planner/plan_shape.h"
#include "planner/search/search.h"

namespace rm {

// The search that a job's shape asks for, with what its question refers to: the job within the
// limits of its devices, its model, and the devices with their speeds and the links between them.
struct ShapeSearch {
    JobSpec spec;
    ModelConfig model;
    FleetSpec fleet;
    int ranks = 0;
    std::vector<Mesh> meshes;
    std::vector<Endpoint> places;  // empty: the links between the devices were not measured
    bool is_host_device = false;
    std::unique_ptr<Kernels> like;
    double correction = 0;  // of the profile's times, after earlier runs; 0: none

    SearchQuestion question() const;  // borrows from it
};

// FAILED_PRECONDITION: nothing is known of the devices' speeds. Other errors: those of
// planned_model.
Result<ShapeSearch> shape_search(const ShapeQuestion& question);

// The same without speeds, for what memory alone decides. FAILED_PRECONDITION: only a profile
// knows the workspaces of these devices.
Result<ShapeSearch> untimed_search(const ShapeQuestion& question);

}  // namespace rm
