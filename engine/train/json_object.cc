#include "engine/train/json_object.h"

#include <algorithm>
#include <limits>

namespace rm {

using nlohmann::json;

JsonObject::JsonObject(const json& value, std::string path)
    : value_(value), path_(std::move(path)) {
    if (!value.is_object()) {
        status_ = invalid_argument("{}: {} where an object is expected",
                                   path_.empty() ? "." : path_, value.type_name());
    }
}

std::string JsonObject::path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : format("{}.{}", path_, key);
}

const json* JsonObject::member(std::string_view key) {
    asked_.emplace(key);
    if (!value_.is_object()) return nullptr;
    const auto found = value_.find(std::string(key));
    return found == value_.end() ? nullptr : &*found;
}

JsonObject& JsonObject::keep(const Status& status) {
    if (status_ && !status) status_ = status;
    return *this;
}

void JsonObject::fail(std::string_view key, std::string_view wanted, const json& found) {
    constexpr std::size_t kMostShown = 60;
    std::string shown = found.dump(-1, ' ', true, json::error_handler_t::replace);
    if (shown.size() > kMostShown) shown = shown.substr(0, kMostShown) + "...";
    keep(invalid_argument("{}: {} where {} is expected", path_of(key), shown, wanted));
}

JsonObject& JsonObject::require(std::string_view key) {
    if (status_ && member(key) == nullptr) {
        keep(invalid_argument("{}: is missing", path_of(key)));
    }
    return *this;
}

template <typename Number>
JsonObject& JsonObject::read_integer(std::string_view key, Number& out, std::string_view wanted) {
    const json* found = member(key);
    if (found == nullptr) return *this;
    const bool fits =
        found->is_number_integer() &&
        (std::is_unsigned_v<Number>
             ? found->is_number_unsigned()
             : !found->is_number_unsigned() ||
                   found->get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
    if (!fits) {
        fail(key, wanted, *found);
        return *this;
    }
    if constexpr (std::is_unsigned_v<Number>) {
        out = found->get<Number>();
    } else {
        const auto wide = found->get<std::int64_t>();
        const bool in_range = wide >= std::numeric_limits<Number>::min() &&
                              wide <= std::numeric_limits<Number>::max();
        if (in_range) {
            out = static_cast<Number>(wide);
        } else {
            fail(key, wanted, *found);
        }
    }
    return *this;
}

template <typename Value, typename Fits>
JsonObject& JsonObject::read_value(std::string_view key, Value& out, Fits fits,
                                   std::string_view wanted) {
    const json* found = member(key);
    if (found == nullptr) return *this;
    if (fits(*found)) {
        out = found->get<Value>();
    } else {
        fail(key, wanted, *found);
    }
    return *this;
}

JsonObject& JsonObject::read(std::string_view key, bool& out) {
    return read_value(
        key, out, [](const json& value) { return value.is_boolean(); }, "true or false");
}

JsonObject& JsonObject::read(std::string_view key, int& out) {
    return read_integer(key, out, "a whole number");
}
JsonObject& JsonObject::read(std::string_view key, std::int64_t& out) {
    return read_integer(key, out, "a whole number");
}
JsonObject& JsonObject::read(std::string_view key, std::uint64_t& out) {
    return read_integer(key, out, "a whole number that is not negative");
}

JsonObject& JsonObject::read(std::string_view key, double& out) {
    return read_value(
        key, out, [](const json& value) { return value.is_number(); }, "a number");
}

JsonObject& JsonObject::read(std::string_view key, std::optional<double>& out) {
    double number = 0;
    if (read(key, number).member(key) != nullptr) out = number;
    return *this;
}

JsonObject& JsonObject::read(std::string_view key, std::vector<double>& out) {
    const auto fits = [](const json& value) {
        const auto is_number = [](const json& item) { return item.is_number(); };
        return value.is_array() && std::all_of(value.begin(), value.end(), is_number);
    };
    return read_value(key, out, fits, "a list of numbers");
}

JsonObject& JsonObject::read(std::string_view key, std::string& out) {
    return read_value(
        key, out, [](const json& value) { return value.is_string(); }, "a string");
}

Status JsonObject::finish() const {
    if (!status_) return status_;
    for (const auto& [key, unused] : value_.items()) {
        if (asked_.count(key) != 0) continue;
        std::string known;
        for (const std::string& name : asked_)
            known += (known.empty() ? "" : ", ") + name;
        return invalid_argument("{}: unknown key; known here: {}", path_of(key), known);
    }
    return {};
}

Result<json> parse_json_text(std::string_view text, std::string_view what) {
    try {
        return json::parse(text);
    } catch (const json::parse_error& error) {
        const auto line =
            1 + std::count(text.begin(), text.begin() + std::min(error.byte, text.size()), '\n');
        return invalid_argument("{}: line {}: not JSON: {}", what, line, error.what());
    } catch (const json::exception& error) {  // a number beyond a double's range
        return invalid_argument("{}: not JSON: {}", what, error.what());
    }
}

}  // namespace rm
