#pragma once

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

// JSON of a tokenizer's files. All failures are data_loss and name the key.
namespace rm {

// Refuses what nlohmann's reader lets pass: a key that appears twice in an object, and nesting
// beyond 64 levels (no file has it; recursion over it would overflow the stack). Text that is not
// UTF-8 is not JSON.
Result<nlohmann::json> parse_strict_json(std::string_view text);

// Nothing where the key is missing or null.
const nlohmann::json* find_value(const nlohmann::json& object, std::string_view key);
// `missing` where the key is missing or null.
Result<bool> bool_at(const nlohmann::json& object, std::string_view key, bool missing);
Status only_keys(const nlohmann::json& object, std::initializer_list<std::string_view> known);

// At most 60 bytes of it.
std::string excerpt(const nlohmann::json& value);

// The same error, its message after "where: ".
Error within(std::string_view where, const Error& error);
Error unsupported(std::string_view what, std::string_view supported);

}  // namespace rm
