#include "options/checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/text.h"

namespace rm {

OptionCheck whole_number(std::int64_t least, std::int64_t most) {
    return [least, most](const std::string& text) -> std::string {
        const auto value = parse_number<std::int64_t>(text);
        if (value && *value >= least && *value <= most) return "";
        if (most >= std::numeric_limits<std::int32_t>::max())
            return format("'{}' is not a whole number of {} or more", text, least);
        return format("'{}' is not a whole number from {} to {}", text, least, most);
    };
}

OptionCheck number(double least, double most) {
    return [least, most](const std::string& text) -> std::string {
        const auto value = parse_number<double>(text);
        if (value && *value >= least && *value <= most) return "";
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
        return format("'{}' is not one of {}", text, join(words));
    };
}

}  // namespace rm
