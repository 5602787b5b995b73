#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

// ~/.config/ringmaster/config.yaml:
//   current: lab
//   contexts:
//     lab: {address: 127.0.0.1:7070}
struct CliConfig {
    std::string current;                          // empty: none
    std::map<std::string, std::string> contexts;  // name -> address
};

// Errors are INVALID_ARGUMENT and begin with "file:line:column: "; unknown keys are errors.
Result<CliConfig> parse_cli_config(std::string_view text, std::string_view file_name);

}  // namespace rm
