#pragma once

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

// Reads a tokenizer's files, beside engine/json/json_object.h.
namespace rm {

// Nothing where the key is missing or null.
const nlohmann::json* find_value(const nlohmann::json& object, std::string_view key);
Status only_keys(const nlohmann::json& object, std::initializer_list<std::string_view> known);

// For messages: in quotes, verbatim if it is safe to print.
std::string shown_token(std::string_view token);

Error unsupported(std::string_view what, std::string_view supported);

}  // namespace rm
