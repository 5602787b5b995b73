#pragma once

#include <vector>

#include "controller/plan_trivial.h"

namespace rm {

// plan_trivially(), but ranks are placed by the snapshot's links where it has any: the placement
// whose communication takes least (planner/placement/solver.h), with the bytes of the stage with
// the longest context by the formulas of docs/communication.md. A model that is no preset counts as
// llama3-8b, as only proportions matter. Order of registration remains for jobs of one rank, where
// too few free devices are measured, and beyond kMostSolved jobs of a pass. The same for the same
// snapshot.
std::vector<PlanDecision> plan_by_links(const PlanningSnapshot& snapshot);

constexpr int kMostSolved = 16;

}  // namespace rm
