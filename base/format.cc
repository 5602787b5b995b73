#include "base/format.h"

#include <cmath>
#include <cstdio>

namespace rm {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

int take_number(std::string_view& text) {
    int value = 0;
    while (!text.empty() && is_digit(text.front())) {
        value = value * 10 + (text.front() - '0');
        text.remove_prefix(1);
    }
    return value;
}

}  // namespace

FormatSpec parse_format_spec(std::string_view spec) {
    FormatSpec parsed;
    if (!spec.empty() && (spec.front() == '<' || spec.front() == '>')) {
        parsed.align = spec.front();
        spec.remove_prefix(1);
    }
    if (!spec.empty() && spec.front() == '0') {
        parsed.zero = true;
        spec.remove_prefix(1);
    }
    parsed.width = take_number(spec);
    if (!spec.empty() && spec.front() == '.') {
        spec.remove_prefix(1);
        parsed.precision = take_number(spec);
    }
    parsed.hex = !spec.empty() && spec.front() == 'x';
    return parsed;
}

void append_padded(std::string& out, std::string_view text, const FormatSpec& spec, bool number) {
    const auto width = static_cast<std::size_t>(spec.width);
    const std::size_t padding = width > text.size() ? width - text.size() : 0;
    const bool right = spec.align == '>' || (spec.align == 0 && number);
    if (right && spec.zero && number) {
        const bool negative = !text.empty() && text.front() == '-';
        if (negative) out += '-';
        out.append(padding, '0');
        text.remove_prefix(negative ? 1 : 0);
    } else if (right) {
        out.append(padding, ' ');
    }
    out.append(text);
    if (!right) out.append(padding, ' ');
}

std::string format_double(double value, const FormatSpec& spec) {
    if (std::isnan(value)) return "nan";  // its sign says nothing
    const char* pattern = spec.precision >= 0 ? "%.*f" : "%.*g";
    const int precision = spec.precision >= 0 ? spec.precision : 12;
    const int length = std::snprintf(nullptr, 0, pattern, precision, value);
    std::string text(static_cast<std::size_t>(length), 0);
    std::snprintf(text.data(), text.size() + 1, pattern, precision, value);
    return text;
}

std::string format_args(std::string_view pattern, const FormatArg* args, std::size_t num_args) {
    std::string out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        const bool doubled = i + 1 < pattern.size() && pattern[i + 1] == c;
        if ((c == '{' || c == '}') && doubled) {
            out += c;
            ++i;
            continue;
        }
        const std::size_t end = c == '{' ? pattern.find('}', i) : std::string_view::npos;
        if (end == std::string_view::npos || next >= num_args) {
            out += c;
            continue;
        }
        std::string_view spec = pattern.substr(i + 1, end - i - 1);
        if (!spec.empty() && spec.front() == ':') spec.remove_prefix(1);
        args[next].append(out, args[next].value, parse_format_spec(spec));
        ++next;
        i = end;
    }
    return out;
}

}  // namespace rm
