#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"

namespace rm {

// Parses all of `text` as a number; nothing if `text` is not exactly one number or it does not fit.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    return failure == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// a, b, c: the items, or what `text_of` says of each.
std::string join(const auto& items, std::string_view separator, const auto& text_of) {
    std::string text;
    bool first = true;
    for (const auto& item : items) {
        text += format("{}{}", first ? "" : separator, text_of(item));
        first = false;
    }
    return text;
}
std::string join(const auto& items, std::string_view separator = ", ") {
    return join(
        items, separator, [](const auto& item) -> const auto& { return item; });
}

// The parts between separators, in order; "" has one part, which is empty.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

// Text from a file for a message: in single quotes, printable ASCII (other bytes as '?'), and cut
// at 200 bytes.
inline std::string shown_text(std::string_view text) {
    constexpr std::size_t kMost = 200;
    std::string shown = "'";
    for (const char c : text.substr(0, kMost))
        shown += c >= ' ' && c <= '~' ? c : '?';
    return shown + (text.size() > kMost ? "...'" : "'");
}

// `text` without white space at either end.
inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n\v\f";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace rm
