#include "worker/inventory/key_value.h"

namespace rm {
namespace {

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

std::string_view value_of(std::string_view text, std::string_view key, char separator) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
        const std::size_t split = line.find(separator);
        if (split == std::string_view::npos || trimmed(line.substr(0, split)) != key) continue;
        return trimmed(line.substr(split + 1));
    }
    return {};
}

}  // namespace rm
