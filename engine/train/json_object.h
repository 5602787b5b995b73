#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rm {

// Reads the members of one JSON object strictly: every absent member keeps its default, a wrong
// type is an error with the key's path, and finish() refuses keys nobody asked for. The first error
// is kept.
class JsonObject {
public:
    JsonObject(const nlohmann::json& value, std::string path);

    JsonObject& read(std::string_view key, bool& out);
    JsonObject& read(std::string_view key, int& out);
    JsonObject& read(std::string_view key, std::int64_t& out);
    JsonObject& read(std::string_view key, std::uint64_t& out);
    JsonObject& read(std::string_view key, double& out);
    JsonObject& read(std::string_view key, std::optional<double>& out);
    JsonObject& read(std::string_view key, std::vector<double>& out);
    JsonObject& read(std::string_view key, std::string& out);
    // An absent member is an error.
    JsonObject& require(std::string_view key);

    bool has(std::string_view key) const { return value_.is_object() && value_.contains(key); }
    // The member, or nullptr; counts as asked for.
    const nlohmann::json* member(std::string_view key);
    std::string path_of(std::string_view key) const;
    // Keeps the first error of a part that was read elsewhere.
    JsonObject& keep(const Status& status);

    Status finish() const;
    const Status& status() const { return status_; }  // the first error; unknown keys are none

private:
    void fail(std::string_view key, std::string_view wanted, const nlohmann::json& found);
    template <typename Number>
    JsonObject& read_integer(std::string_view key, Number& out, std::string_view wanted);
    template <typename Value, typename Fits>
    JsonObject& read_value(std::string_view key, Value& out, Fits fits, std::string_view wanted);

    const nlohmann::json& value_;
    std::string path_;
    std::set<std::string, std::less<>> asked_;
    Status status_;
};

// Syntax errors name line and column.
Result<nlohmann::json> parse_json_text(std::string_view text, std::string_view what);

}  // namespace rm
