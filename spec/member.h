#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "base/units.h"

// A structure that travels is described once, in a header of this folder: describe(visit, value)
// calls `visit` for each of its members with a name. Every form of the structure (job file, JSON,
// protobuf, columns, random values of tests, documentation) is a visitor.
namespace rm {

// How a job file writes a value if its type alone does not determine that; other forms hold bare
// numbers.
enum class Written {
    plain,
    tokens,          // 8K: K and M are 2^10 and 2^20
    budget,          // 8M: K, M and B are 10^3, 10^6 and 10^9
    steps,           // "10 steps"; other forms add _steps to the name
    path,            // relative paths start at the current directory
    bytes_or_path,   // the word `bytes`, or a path
    number_or_auto,  // the word `auto`, which other forms hold as -1, or a number
    // In no job file:
    measured,       // a number that may be NaN, which JSON writes as null
    exact,          // the name already states the unit
    index_or_none,  // -1: none; protobuf stores the index + 1
};

// required: a job file must have it. sent: a message must have it; other members keep their
// defaults.
enum class Presence { optional, required, sent };

struct Member {
    std::string_view name;  // in the job file and JSON
    std::string_view help;  // what may be written, for the documentation and the schema
    Written written = Written::plain;
    Presence presence = Presence::optional;
    std::string_view absent = {};  // what applies without it, if the default value does not show it
    // Its name in protobuf, columns and JSON from before 2026-11, if different.
    std::string_view stored = {};
    bool automatic = false;  // the job file may say `auto`, which is the default
};

// A member with one name in all forms, which states the unit.
constexpr Member named(std::string_view name, Presence presence = Presence::optional) {
    return {.name = name, .written = Written::exact, .presence = presence};
}

// Visits members that have one name in all forms; `names` and `values` are in the same order.
template <typename Visit, std::size_t N, typename... Values>
void visit_named(Visit& visit, const std::string_view (&names)[N], Values&... values) {
    static_assert(N == sizeof...(Values), "every member needs a name");
    const std::string_view* name = names;
    (visit(named(*name++), values), ...);
}

// T is U, constant or not.
template <typename T, typename U>
concept Like = std::is_same_v<std::remove_const_t<T>, U>;

// Whether a structure is described; visitors then go into it.
struct AnyVisitor {
    template <typename T>
    void operator()(const Member&, T&) const {}
    template <typename... Parts>
    void interval(const Member&, Parts&...) const {}
    template <typename... Parts>
    void mesh(const Member&, Parts&...) const {}
};
template <typename T>
concept Described = requires(const AnyVisitor& visit, T& value) {
    describe(visit, value);
};

// The name of a bare number states its unit.
template <typename T>
std::string with_unit(std::string_view name, const Member& member) {
    std::string out(name);
    if (member.written == Written::exact) return out;
    if (member.written == Written::steps) out += "_steps";
    if (std::is_same_v<std::remove_const_t<T>, Seconds>) out += "_seconds";
    return out;
}
inline std::string_view stored_name(const Member& member) {
    return member.stored.empty() ? member.name : member.stored;
}

}  // namespace rm
