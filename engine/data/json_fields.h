#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Fields of a JSON object that came from a disk. Each error names the key, what stands there and
// what would be right; numbers must be whole and fit 64 bits.
namespace rm {

Result<nlohmann::json> parse_json(std::string_view text);
Result<const nlohmann::json*> field_at(const nlohmann::json& object, std::string_view key);
Result<std::int64_t> integer_at(const nlohmann::json& object, std::string_view key);
Result<std::string> string_at(const nlohmann::json& object, std::string_view key);
Result<std::vector<std::int64_t>> integers_at(const nlohmann::json& object, std::string_view key);
Result<const nlohmann::json*> array_at(const nlohmann::json& object, std::string_view key);

}  // namespace rm
