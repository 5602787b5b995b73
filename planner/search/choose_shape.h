#pragma once

#include "planner/plan_shape.h"

namespace rm {

// The fastest shape that fits the free devices, by search_plans: over every mesh where the mesh is
// left to the plan and the devices and the links between them were measured, else over stages of
// ZeRO and memory on the question's mesh. A CPU slot's memory is its host's: nothing is kept
// there unless the job says so. shape_by_rule() where nothing is known of the devices' speeds or of
// the model.
ShapeDecision choose_shape(const ShapeQuestion& question);

}  // namespace rm
