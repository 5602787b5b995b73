#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/text.h"
#include "base/words.h"
#include "controller/core/names.h"
#include "spec/job_spec.h"
#include "spec/reason.h"
#include "spec/session.h"

// A column value, in SQLite's three types, and the conversions of every column type to and from it.
namespace rm {

using Value = std::variant<std::int64_t, double, std::string>;
std::string to_text(const Value& value);  // doubles keep all their bits

// "1x4x1x1": data, ring, ulysses, tensor; "1x8x1x1/2" with inner rings of 2; or empty.
Value encode(const std::optional<Mesh>& mesh);
Value encode(const Reasons& reasons);                  // one per line, with kind and remedy
Value encode(const std::vector<DataSource>& sources);  // one per line
Value encode(const std::optional<double>& number);     // all its digits, or empty
Value encode(const std::optional<Bytes>& bytes);       // "40GiB", or empty
// One per line, as format() writes it.
template <typename T>
Value encode(const std::vector<T>& entries) {
    return join(entries, "\n");
}

template <typename T>
concept Whole = std::is_integral_v<T>;
// A structure around one value: an id, an epoch, a quantity with its unit.
template <typename T>
concept Wrapped = requires {
    requires std::is_object_v<decltype(T::value)>;
};

inline Value encode(const std::string& text) {
    return text;
}
inline Value encode(double number) {
    return number;
}
template <Whole T>
Value encode(T number) {
    return static_cast<std::int64_t>(number);
}
template <Wrapped T>
Value encode(const T& wrapped) {
    return encode(wrapped.value);
}
template <Named T>
Value encode(T name) {
    return std::string(to_string(name));
}
inline Value encode(WallTime time) {
    return time.micros;
}
inline Value encode(const std::optional<WallTime>& time) {
    return time.value_or(WallTime{}).micros;  // 0: none
}
inline Value encode(const Mesh& mesh) {
    return encode(std::optional<Mesh>(mesh));
}

// The error says what the value is and what it should be.
Status decode(const Value& value, std::string& text);
Status decode(const Value& value, double& number);
Status decode(const Value& value, std::int64_t& number);
Status decode(const Value& value, std::optional<Mesh>& mesh);
Status decode(const Value& value, Mesh& mesh);
Status decode(const Value& value, std::vector<std::string>& lines);
Status decode(const Value& value, Reasons& reasons);
Status decode(const Value& value, std::vector<DataSource>& sources);
Status decode(const Value& value, std::vector<DeviceId>& devices);
Status decode(const Value& value, std::optional<double>& number);
Status decode(const Value& value, std::optional<Bytes>& bytes);
Status decode(const Value& value, std::optional<WallTime>& time);
Status decode(const Value& value, std::vector<double>& numbers);
Status decode(const Value& value, std::vector<int>& numbers);
Status decode(const Value& value, std::vector<std::int64_t>& numbers);
Status decode(const Value& value, std::vector<NodeId>& nodes);

template <Whole T>
Status decode(const Value& value, T& number) {
    std::int64_t wide = 0;
    RM_RETURN_IF_ERROR(decode(value, wide));
    number = static_cast<T>(wide);
    return {};
}
template <Wrapped T>
Status decode(const Value& value, T& wrapped) {
    return decode(value, wrapped.value);
}
template <Named T>
Status decode(const Value& value, T& name) {
    std::string text;
    RM_RETURN_IF_ERROR(decode(value, text));
    return parse_name(text, name);
}
inline Status decode(const Value& value, WallTime& time) {
    return decode(value, time.micros);
}

}  // namespace rm
