#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string_view>

#include "base/result.h"

// Errors are data_loss and do not name the file.
namespace rm {

Result<nlohmann::json> parse_json(std::string_view text);

// Parses untrusted text: a duplicate key in an object, nesting deeper than 64 and text longer than
// `max_bytes` are errors too. Errors name the line.
Result<nlohmann::json> parse_strict_json(std::string_view text, std::size_t max_bytes);

}  // namespace rm
