#pragma once

#include <algorithm>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rm::bench {

enum class Output { table, json };

struct Command {
    std::string_view name;                     // as in "ring-bench NAME"
    std::string_view usage;                    // ends with a line's end
    std::vector<std::string_view> alone = {};  // flags without a value
};

// Gives every "--flag VALUE" to set(arguments, flag, value); the value of a flag alone is empty.
template <typename Arguments, typename Set>
Result<Arguments> parse_arguments(std::span<char*> words, const Command& command, const Set& set) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view flag = words[i];
        const bool alone =
            std::find(command.alone.begin(), command.alone.end(), flag) != command.alone.end();
        if (!alone && i + 1 == words.size()) return invalid_argument("{} needs a value", flag);
        RM_RETURN_IF_ERROR(set(arguments, flag, alone ? "" : words[++i]));
    }
    return arguments;
}

constexpr int kUsageError = 2;  // the exit code

inline void print_misuse(const Command& command, const Error& error) {
    std::cerr << "ring-bench " << command.name << ": " << error.message << "\n" << command.usage;
}

// Nothing: what is wrong has been printed, and the usage.
template <typename Arguments, typename Set>
std::optional<Arguments> read_arguments(std::span<char*> words, const Command& command,
                                        const Set& set) {
    auto arguments = parse_arguments<Arguments>(words, command, set);
    if (arguments) return *std::move(arguments);
    print_misuse(command, arguments.error());
    return std::nullopt;
}

}  // namespace rm::bench
