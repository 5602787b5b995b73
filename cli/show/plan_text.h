#pragma once

#include <string>

#include "cli/input/fleet_file.h"
#include "cli/screen/console.h"
#include "planner/search/extremes.h"
#include "spec/reason.h"

// Plans for users and for programs. Pure but for the stream.
namespace rm {

// A search and what was asked.
struct PlanAnswer {
    const JobSpec& spec;
    const ModelConfig& model;
    const PricedFleet& fleet;
    int devices = 0;
    const SearchResult& result;
    const std::vector<Remedy>& remedies;          // where no plan fits
    const std::optional<Reason>& too_dear = {};   // why max_cost_usd forbids the fastest
    const std::optional<SpeedUp>& speed_up = {};  // of `devices`, the fastest number of them
};

// The ranked table with the memory of each plan, why the others are not in it, and where there is
// none the changes that make one.
void print_plan(const Output& out, const PlanAnswer& answer);

// The output of `plan -o json`.
std::string plan_json(const PlanAnswer& answer);

}  // namespace rm
