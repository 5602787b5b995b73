#include "planner/search/shortage.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace rm {
namespace {

std::string above(const char* name, Bytes taken, std::optional<Bytes> limit) {
    if (!limit || taken <= *limit) return "";
    return format("{} of the {}, {} more than {}", taken, name, Bytes{taken.value - limit->value},
                  *limit);
}

}  // namespace

std::string why_text(const PassedOver& passed, const MemorySpec& limits) {
    switch (passed.why) {
        case PassedOver::Why::slower:
            return format("a step takes {} or more", passed.at_least);
        case PassedOver::Why::too_large:
            break;
        case PassedOver::Why::fails:
            return passed.error;
    }
    std::vector<std::string> parts;
    for (const std::string& part :
         {above("device", passed.device, limits.device), above("host", passed.host, limits.host)}) {
        if (!part.empty()) parts.push_back(part);
    }
    return "does not fit: takes at least " + join(parts, " and ");
}

std::string shortage_text(const SearchResult& result) {
    RM_CHECK(result.ranked.empty() && !result.passed.empty(), "some plan fits");
    const PassedOver& nearest = result.passed.front();
    return format("no plan fits; the nearest, {}, {}", to_string(nearest.sharding),
                  why_text(nearest, result.limits));
}

std::string advice_text(const std::vector<Remedy>& remedies) {
    std::vector<std::string> ways;
    for (const auto& [change, plan] : remedies) {
        ways.push_back(format("{} ({}, {} of the device and {} of the host)", change,
                              to_string(plan.sharding), plan.prediction.device_total(),
                              plan.prediction.host_total()));
    }
    return ways.empty() ? "" : "it fits with " + join(ways, ", or with ");
}

}  // namespace rm
