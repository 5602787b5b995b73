#include "cli/short_nodes.h"

#include <algorithm>
#include <map>
#include <set>

namespace rm {
namespace {

constexpr std::size_t kLong = 12;
constexpr std::size_t kLeast = 8;

std::set<std::string> ids_of(const PlacementReport& report) {
    std::set<std::string> ids;
    for (const OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        for (const DeviceId& device : order->ranks)
            ids.insert(device.node.value);
    }
    return ids;
}

std::size_t common(const std::string& a, const std::string& b) {
    const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<std::size_t>(end - a.begin());
}

// In sorted order, an id shares its longest prefix with a neighbour.
std::size_t enough_letters(const std::set<std::string>& ids) {
    std::size_t letters = kLeast;
    const std::string* before = nullptr;
    for (const std::string& id : ids) {
        if (before != nullptr) letters = std::max(letters, common(*before, id) + 1);
        before = &id;
    }
    return letters;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

}  // namespace

PlacementReport with_short_nodes(PlacementReport report) {
    const std::set<std::string> ids = ids_of(report);
    const bool all_long =
        std::all_of(ids.begin(), ids.end(), [](const auto& id) { return id.size() > kLong; });
    if (!all_long) return report;
    const std::size_t letters = enough_letters(ids);
    for (OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        for (DeviceId& device : order->ranks)
            device.node.value.resize(std::min(letters, device.node.value.size()));
    }
    for (GroupReport& group : report.groups) {
        for (const std::string& id : ids)
            replace_all(group.resource, id, id.substr(0, letters));
    }
    for (DegradedLink& link : report.degraded) {
        for (NodeId* node : {&link.from, &link.to})
            node->value.resize(std::min(letters, node->value.size()));
    }
    return report;
}

}  // namespace rm
