#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rm {

enum class JsonSource {
    // A configuration. Errors are invalid_argument and begin with a member's path:
    // "stages[0].context: "8" where a whole number of 64 bits is expected".
    configuration,
    // A file that a program has written. A null member counts as absent. Errors are data_loss:
    // "'context' is "8", not a whole number of 64 bits".
    file,
};

// Tests whether a JSON value can be read as a T; `wanted` describes the values that can.
template <typename T>
struct JsonType;
template <typename T>
concept JsonReadable = requires(const nlohmann::json& value) {
    JsonType<T>::holds(value);
};

template <>
struct JsonType<bool> {
    static constexpr std::string_view wanted = "true or false";
    static bool holds(const nlohmann::json& value) { return value.is_boolean(); }
};
template <>
struct JsonType<double> {
    static constexpr std::string_view wanted = "a number";
    static bool holds(const nlohmann::json& value) { return value.is_number(); }
};
template <>
struct JsonType<std::string> {
    static constexpr std::string_view wanted = "a string";
    static bool holds(const nlohmann::json& value) { return value.is_string(); }
};
template <std::integral Number>
struct JsonType<Number> {
    static constexpr std::string_view wanted =
        std::is_unsigned_v<Number>               ? "a whole number that is not negative"
        : sizeof(Number) == sizeof(std::int64_t) ? "a whole number of 64 bits"
                                                 : "a whole number of 32 bits";
    static bool holds(const nlohmann::json& value) {
        if (!value.is_number_integer()) return false;
        return value.is_number_unsigned() ? std::in_range<Number>(value.get<std::uint64_t>())
                                          : std::in_range<Number>(value.get<std::int64_t>());
    }
};
template <JsonReadable T>
struct JsonType<std::vector<T>> {
    static constexpr std::string_view wanted =
        std::is_arithmetic_v<T> ? "a list of numbers" : "a list of strings";
    static bool holds(const nlohmann::json& value) {
        return value.is_array() && std::all_of(value.begin(), value.end(), JsonType<T>::holds);
    }
};

// Reads the members of one JSON object strictly: every absent member keeps its default, a wrong
// type is an error that names the key, and finish() refuses unread keys. The first error
// is kept.
class JsonObject {
public:
    JsonObject(const nlohmann::json& value, std::string path,
               JsonSource source = JsonSource::configuration);
    static JsonObject of_file(const nlohmann::json& value, std::string path = "") {
        return {value, std::move(path), JsonSource::file};
    }

    // bool, a whole number, double, std::string, or a vector of one of these.
    template <JsonReadable T>
    JsonObject& read(std::string_view key, T& out) {
        const nlohmann::json* found = member(key);
        if (found == nullptr) return *this;
        if (!JsonType<T>::holds(*found)) return fail(key, JsonType<T>::wanted, *found);
        out = found->get<T>();
        return *this;
    }
    template <JsonReadable T>
    JsonObject& read(std::string_view key, std::optional<T>& out) {
        return member(key) == nullptr ? *this : read(key, out.emplace());
    }
    // An absent member is an error. Without a target, null counts as present.
    JsonObject& require(std::string_view key);
    template <typename T>
    JsonObject& require(std::string_view key, T& out) {
        return member(key) == nullptr ? missing(key) : read(key, out);
    }

    bool has(std::string_view key) const { return value_.is_object() && value_.contains(key); }
    // The member, or nullptr; marks the key as read.
    const nlohmann::json* member(std::string_view key);
    // The member, which must be a list; an absent one is empty.
    const nlohmann::json& list(std::string_view key);
    std::string path_of(std::string_view key) const;
    // Keeps the first error of a part that was read elsewhere.
    JsonObject& keep(const Status& status);

    Status finish() const;
    const Status& status() const { return status_; }  // the first error; unknown keys are none

private:
    const nlohmann::json* find(std::string_view key);
    JsonObject& missing(std::string_view key);
    Error error(std::string_view key, std::string_view in_file,
                std::string_view in_configuration) const;
    JsonObject& fail(std::string_view key, std::string_view wanted, const nlohmann::json& found);
    bool is_file() const { return source_ == JsonSource::file; }

    const nlohmann::json& value_;
    std::string path_;
    JsonSource source_;
    std::set<std::string, std::less<>> asked_;
    Status status_;
};

// Reads one member by the rules of JsonSource::file and ignores the others.
template <typename T>
Result<T> json_at(const nlohmann::json& object, std::string_view key) {
    T value{};
    RM_RETURN_IF_ERROR(JsonObject::of_file(object).require(key, value).status());
    return value;
}
Result<const nlohmann::json*> field_at(const nlohmann::json& object, std::string_view key);
Result<const nlohmann::json*> list_at(const nlohmann::json& object, std::string_view key);

// At most 60 bytes of JSON, for messages.
std::string excerpt(const nlohmann::json& value);

}  // namespace rm
