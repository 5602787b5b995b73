#include "engine/data/json_fields.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace rm {
namespace {

using nlohmann::json;

std::string excerpt(const json& value) {
    std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

Error wrong_type(std::string_view key, const json& value, std::string_view wanted) {
    return make_error(ErrorCode::data_loss, "'{}' is {}, not {}", key, excerpt(value), wanted);
}

Result<std::int64_t> to_integer(const json& value, std::string_view key) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > kLargest)) {
        return wrong_type(key, value, "a whole number of 64 bits");
    }
    return value.get<std::int64_t>();
}

}  // namespace

Result<json> parse_json(std::string_view text) {
    json value = json::parse(text, nullptr, false);
    if (value.is_discarded()) {
        return make_error(ErrorCode::data_loss, "is not JSON ({} bytes)", text.size());
    }
    return value;
}

Result<const json*> field_at(const json& object, std::string_view key) {
    if (!object.is_object()) return wrong_type(key, object, "inside an object");
    const auto found = object.find(std::string(key));
    if (found == object.end()) return make_error(ErrorCode::data_loss, "'{}' is missing", key);
    return &*found;
}

Result<std::int64_t> integer_at(const json& object, std::string_view key) {
    RM_TRY(const json* value, field_at(object, key));
    return to_integer(*value, key);
}

Result<std::string> string_at(const json& object, std::string_view key) {
    RM_TRY(const json* value, field_at(object, key));
    if (!value->is_string()) return wrong_type(key, *value, "a string");
    return value->get<std::string>();
}

Result<const json*> array_at(const json& object, std::string_view key) {
    RM_TRY(const json* value, field_at(object, key));
    if (!value->is_array()) return wrong_type(key, *value, "a list");
    return value;
}

Result<std::vector<std::int64_t>> integers_at(const json& object, std::string_view key) {
    RM_TRY(const json* list, array_at(object, key));
    std::vector<std::int64_t> numbers;
    for (const json& item : *list) {
        RM_TRY(const std::int64_t number, to_integer(item, key));
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace rm
