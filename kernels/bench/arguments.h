#pragma once

#include <algorithm>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace rm::bench {

enum class Output { table, json };

struct Command {
    std::string_view name;                     // as in "ring-bench NAME"
    std::string_view usage;                    // ends with a line's end
    std::vector<std::string_view> alone = {};  // flags without a value
};

// Gives every "--flag VALUE" or "--flag=VALUE" to set(arguments, flag, value); the value of a flag
// without one is empty.
template <typename Arguments, typename Set>
Result<Arguments> parse_arguments(std::span<char*> words, const Command& command, const Set& set) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::size_t equals = std::min(word.find('='), word.size());
        const std::string_view flag = word.substr(0, equals);
        const bool alone =
            std::find(command.alone.begin(), command.alone.end(), flag) != command.alone.end();
        if (!flag.starts_with("-"))
            return invalid_argument("'{}' is not expected; options begin with --", word);
        if (equals < word.size()) {
            RM_RETURN_IF_ERROR(set(arguments, flag, word.substr(equals + 1)));
            continue;
        }
        // A name that is wrong is told as such, not as one without a value.
        if (!alone && i + 1 == words.size()) {
            const Status known = set(arguments, flag, "1");
            const bool is_unknown = !known && known.error().message.starts_with("unknown argument");
            if (is_unknown) return known.error();
            return invalid_argument("{} needs a value", flag);
        }
        RM_RETURN_IF_ERROR(set(arguments, flag, alone ? "" : words[++i]));
    }
    return arguments;
}

constexpr int kUsageError = 2;  // the exit code

inline void print_misuse(const Command& command, const Error& error) {
    std::cerr << "ring-bench " << command.name << ": " << error.message << "\n" << command.usage;
}

// The whole text as a number of 1 or more, at most `most`.
inline Result<std::int64_t> parse_number(std::string_view flag, std::string_view text,
                                         std::int64_t least, std::int64_t most) {
    const auto value = parse_count(text, Suffix::binary);
    if (value && *value >= least && *value <= most) return *value;
    return invalid_argument("{} '{}' is not a whole number from {} to {}", flag, text, least, most);
}

// True when the words ask for help; it has been printed.
inline bool print_help(std::span<char*> words, std::string_view usage) {
    const bool asked = std::any_of(words.begin(), words.end(), [](std::string_view word) {
        return word == "--help" || word == "-h";
    });
    if (asked) std::cout << usage;
    return asked;
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
