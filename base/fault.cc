#include "base/fault.h"

#include "base/text.h"

namespace rm {

Result<std::map<std::string, int>> Faults::parse(std::string_view text) {
    std::map<std::string, int> points;
    if (text.empty()) return points;
    if (text.ends_with(',')) text.remove_suffix(1);
    for (const std::string_view item : split(text, ',')) {
        const std::size_t at = item.find('@');
        std::optional<int> count = 0;
        if (at != std::string_view::npos) {
            const std::string_view number = item.substr(at + 1);
            count = parse_number<int>(number);
            if (!count || *count < 1) {
                return invalid_argument("fault '{}': '{}' is not a passage number; write point@2",
                                        item, number);
            }
        }
        if (at == 0 || item.empty()) return invalid_argument("fault '{}' has no point name", item);
        if (!points.emplace(item.substr(0, at), *count).second) {
            return invalid_argument("fault '{}' is planted twice; one passage per point", item);
        }
    }
    return points;
}

bool Faults::fires(std::string_view point) {
    const std::lock_guard lock(mutex_);
    const auto planted = points_.find(std::string(point));
    if (planted == points_.end()) return false;
    const int passage = ++passed_.try_emplace(std::string(point), 0).first->second;
    return planted->second == 0 || planted->second == passage;
}

void Faults::pass(std::string_view point) {
    if (fires(point)) throw InjectedFault(format("injected fault at {}", point));
}

}  // namespace rm
