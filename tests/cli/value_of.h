#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "cli/command_line.h"

namespace rm::test {

using Texts = std::vector<std::string>;

// The value of an option as the line's verb sees it.
template <typename Value>
Value value_of(const CommandLine& line, const std::string& option) {
    const auto& all = line.command->options().list();
    const auto found = std::find_if(all.begin(), all.end(), [&](const VerbOption& one) {
        return one.names.substr(one.names.find(',') + 1) == option;
    });
    RM_CHECK(found != all.end(), "the verb has no {}", option);
    return *std::get<Value*>(found->value);
}
inline std::string text_of(const CommandLine& line, const std::string& option) {
    return value_of<std::string>(line, option);
}
inline bool flag_of(const CommandLine& line, const std::string& option) {
    return value_of<bool>(line, option);
}

}  // namespace rm::test
