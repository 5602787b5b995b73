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
    // How to make a price and a time known.
    std::string price_remedy = "name one in the controller's --prices FILE";
    std::string time_remedy = "measure the devices: ringmaster-worker --profile now";
};

// Why a plan of `devices` devices, which `name` names, may not be made: it costs more, or nothing
// says what it costs. `all`: its steps; 0: unknown. Nothing: it may.
std::optional<Reason> over_cost_limit(const CostQuestion& question, const std::string& name,
                                      int devices, Seconds all);

// "the cheapest plan, ring 2, ZeRO 3 on 2 L40S, costs 4.10 USD and takes 3h10m", or that no number
// of devices costs less than `fastest`, the money of the plan that over_cost_limit forbids.
std::string cheapest_text(const CostQuestion& question, const SearchQuestion& search,
                          double fastest);

}  // namespace rm
