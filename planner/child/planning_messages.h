#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "planner/child/plan_detail.h"
#include "planner/plan_jobs.h"
#include "planner/snapshot.h"

// Requests to the planning child process and its replies, as bytes
// (proto/ringmaster/v1/planning.proto). DATA_LOSS where bytes are not such a message.
namespace rm {

std::string pack(const PlanningSnapshot& snapshot);
Result<PlanningSnapshot> unpack_snapshot(std::string_view bytes);

std::string pack(const std::vector<PlanDecision>& decisions);
Result<std::vector<PlanDecision>> unpack_decisions(std::string_view bytes);

std::string pack(const Result<PlanDetail>& detail);
Result<ringmaster::v1::PlanningDetail> unpack_detail(std::string_view bytes);

}  // namespace rm
