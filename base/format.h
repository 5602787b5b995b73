#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

// A small `{}` formatter: g++ 12 has no std::format and base links nothing.
// `{}` prints anything with an ostream operator; `{:[<|>][0][width][.precision][x]}` aligns, pads
// and limits as std::format does. `{{` and `}}` are literal braces. A placeholder without an
// argument is printed unchanged, so that a wrong message never hides the error it reports.
namespace rm {

struct FormatSpec {
    char align = 0;  // '<', '>' or 0: numbers right, the rest left
    bool zero = false;
    bool hex = false;
    int width = 0;
    int precision = -1;
};

FormatSpec parse_format_spec(std::string_view spec);

// Appends `text` to `out`, padded to `spec.width`.
void append_padded(std::string& out, std::string_view text, const FormatSpec& spec, bool number);
std::string format_double(double value, const FormatSpec& spec);

template <typename T>
void append_formatted(std::string& out, const T& value, const FormatSpec& spec) {
    if constexpr (std::is_same_v<T, bool>) {
        append_padded(out, value ? "true" : "false", spec, false);
    } else if constexpr (std::is_floating_point_v<T>) {
        append_padded(out, format_double(static_cast<double>(value), spec), spec, true);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        append_padded(out, std::string_view(value), spec, false);
    } else {
        std::ostringstream stream;
        if (spec.hex) stream << std::hex;
        if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int8_t>) {
            stream << static_cast<int>(value);
        } else {
            stream << value;
        }
        append_padded(out, stream.str(), spec, std::is_arithmetic_v<T>);
    }
}

using FormatAppend = void (*)(std::string&, const void*, const FormatSpec&);
struct FormatArg {
    const void* value;
    FormatAppend append;
};
std::string format_args(std::string_view pattern, const FormatArg* args, std::size_t num_args);

template <typename... Args>
std::string format(std::string_view pattern, const Args&... args) {
    if constexpr (sizeof...(Args) == 0) {
        return format_args(pattern, nullptr, 0);
    } else {
        const FormatArg list[] = {
            {&args, [](std::string& out, const void* value, const FormatSpec& spec) {
                 append_formatted(out, *static_cast<const Args*>(value), spec);
             }}...};
        return format_args(pattern, list, sizeof...(Args));
    }
}

}  // namespace rm
