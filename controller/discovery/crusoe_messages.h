#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/discovery/crusoe_api.h"

// The answers of Crusoe's API as structures. Unknown members are passed over; errors are DATA_LOSS.
namespace rm {

struct MachinePage {
    std::vector<Machine> machines;
    std::string next_token;  // empty: this was the last
};

// "STATE_RUNNING" and "RUNNING" alike. States that are neither running nor stopped are `starting`.
MachineState crusoe_state(std::string_view word);

Result<MachinePage> parse_machines(std::string_view body);
Result<std::vector<Shape>> parse_shapes(std::string_view body);
// An operation itself, or as the member of an answer to a change.
Result<CloudOperation> parse_operation(std::string_view body);
// The id of the project of that name; of the only one for an empty name.
Result<std::string> parse_project(std::string_view body, const std::string& name);
std::string order_json(const MachineOrder& order);

struct ApiError {
    std::string code;
    std::string message;
};
ApiError parse_api_error(std::string_view body);  // empty where it is none

}  // namespace rm
