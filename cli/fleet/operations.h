#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/client/signals.h"
#include "controller/discovery/crusoe_api.h"

// Changes of the machines of an account, from the request to what has become of it.
namespace rm {

// How a wait for Crusoe ends.
enum class Wait { ended, interrupted, timed_out };

struct WaitRules {
    Seconds limit{900};
    Seconds first_pause{0.2};  // between looks; doubles
    Seconds longest_pause{5};
};

struct Waited {
    Wait how = Wait::ended;
    CloudOperation last;  // as it was seen last
};

// Looks at an operation until it has ended. An error is that of the look.
Result<Waited> wait_for_operation(CrusoeApi& api, CloudOperation operation, const WaitRules& rules,
                                  const Signals& signals);

std::vector<std::string> names_of(const MachineOrder& order);  // "ring-1", "ring-2"

// The machines of these names, in this order; those that are not there are left out.
std::vector<Machine> named(const std::vector<Machine>& machines,
                           const std::vector<std::string>& names);

// Looks until all of the names are there, a limit or an interrupt: for a request without an answer.
Result<std::vector<Machine>> find_created(CrusoeApi& api, const std::vector<std::string>& names,
                                          const WaitRules& rules, const Signals& signals);

// One machine for each text, by id or by name. NOT_FOUND names every text that is none;
// INVALID_ARGUMENT a name that several have.
Result<std::vector<Machine>> pick_machines(const std::vector<Machine>& machines,
                                           const std::vector<std::string>& texts);

}  // namespace rm
