#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace rm {

// A JSON file somebody else wrote, as a tree: a key that stands twice in one object, nesting deeper
// than 64 and text longer than `max_bytes` are errors too. data_loss; says where and what, not in
// which file.
Result<nlohmann::json> parse_strict_json(std::string_view text, std::size_t max_bytes);

}  // namespace rm
