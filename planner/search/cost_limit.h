#pragma once

#include <optional>
#include <string>

#include "planner/search/search.h"
#include "spec/cost/cost.h"
#include "spec/reason.h"

// resources.max_cost_usd against what a plan costs.
namespace rm {

struct CostQuestion {
    const JobSpec& spec;
    std::string kind;      // of the devices
    const Rates& rates;    // of one
    double spent_usd = 0;  // by earlier attempts
};

// Why a plan of `devices` devices, which `name` names, may not be made: it costs more, or nothing
// says what it costs. `all`: its steps; 0: unknown. Nothing: it may.
std::optional<Reason> over_cost_limit(const CostQuestion& question, const std::string& name,
                                      int devices, Seconds all);

// "the cheapest plan, ring 2, ZeRO 3 on 2 L40S, costs 4.10 USD and takes 3h10m"; empty: none fits.
std::string cheapest_text(const CostQuestion& question, const SearchQuestion& search);

}  // namespace rm
