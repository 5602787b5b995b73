#pragma once

#include <span>
#include <string_view>

namespace rm {

// A file of dashboards/prometheus, which the build puts into the program.
struct RuleFile {
    std::string_view name;
    std::string_view text;
};
extern const std::span<const RuleFile> kPrometheusRules;

}  // namespace rm
