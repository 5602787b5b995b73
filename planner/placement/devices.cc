#include "planner/placement/devices.h"

#include <set>

namespace rm {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Removes the leading digits from `text` and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end]))
        ++end;
    std::string_view number = text.substr(0, end);
    text.remove_prefix(end);
    while (number.size() > 1 && number.front() == '0')
        number.remove_prefix(1);
    return number;
}

}  // namespace

DeviceTable::DeviceTable(const PlacementProblem& problem) {
    const std::set<Endpoint> never(problem.forbidden.begin(), problem.forbidden.end());
    for (int node = 0; node < problem.graph.num_nodes(); ++node) {
        std::vector<Endpoint>& here = by_node_.emplace_back();
        for (int device = 0; device < problem.graph.num_devices(node); ++device) {
            if (!never.contains({node, device})) here.push_back({node, device});
        }
        usable_.insert(usable_.end(), here.begin(), here.end());
    }
}

std::vector<Endpoint> fill(const DeviceTable& devices, const std::vector<int>& nodes, int num_ranks,
                           int unit) {
    std::vector<Endpoint> placement;
    std::vector<Endpoint> rest;
    for (const int node : nodes) {
        const std::vector<Endpoint>& here = devices.usable_of(node);
        const auto whole = static_cast<std::ptrdiff_t>(here.size() - here.size() % usize(unit));
        placement.insert(placement.end(), here.begin(), here.begin() + whole);
        rest.insert(rest.end(), here.begin() + whole, here.end());
    }
    placement.insert(placement.end(), rest.begin(), rest.end());
    if (placement.size() > usize(num_ranks)) {
        placement.resize(usize(num_ranks));
    }
    return placement;
}

bool name_before(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        if (is_digit(a.front()) && is_digit(b.front())) {
            const std::string_view x = take_number(a);
            const std::string_view y = take_number(b);
            if (x.size() != y.size()) return x.size() < y.size();
            if (x != y) return x < y;
            continue;
        }
        if (a.front() != b.front()) return a.front() < b.front();
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    return a.empty() && !b.empty();
}

}  // namespace rm
