#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controller/discovery/provider.h"

namespace rm {

// A list of machines (docs/discovery.md):
//   - {name: node-1, address: 10.0.0.11, shape: l40s-48gb.10x}
// The name is the id. Errors name file, place and key.
Result<std::vector<Machine>> parse_static_inventory(std::string_view text,
                                                    std::string_view file_name);

// Reads the file at each list(), so that changes need no restart.
std::unique_ptr<Provider> make_static_inventory(std::string path);

}  // namespace rm
