#include "options/checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/format.h"

namespace rm {
namespace {

template <typename T>
bool parse_all(const std::string& text, T& value) {
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, value);
    return failure == std::errc() && rest == end;
}

}  // namespace

OptionCheck whole_number(std::int64_t least, std::int64_t most) {
    return [least, most](const std::string& text) -> std::string {
        std::int64_t value = 0;
        if (parse_all(text, value) && value >= least && value <= most) return "";
        if (most >= std::numeric_limits<std::int32_t>::max())
            return format("'{}' is not a whole number of {} or more", text, least);
        return format("'{}' is not a whole number from {} to {}", text, least, most);
    };
}

OptionCheck number(double least, double most) {
    return [least, most](const std::string& text) -> std::string {
        double value = 0;
        if (parse_all(text, value) && value >= least && value <= most) return "";
        if (std::isinf(most)) return format("'{}' is not a number of {} or more", text, least);
        return format("'{}' is not a number from {} to {}", text, least, most);
    };
}

OptionCheck not_empty() {
    return [](const std::string& text) -> std::string {
        return text.empty() ? "the value is empty" : "";
    };
}

OptionCheck one_of(std::vector<std::string> words) {
    return [words = std::move(words)](const std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        std::string list;
        for (const std::string& word : words)
            list += (list.empty() ? "" : ", ") + word;
        return format("'{}' is not one of {}", text, list);
    };
}

}  // namespace rm
