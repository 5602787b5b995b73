#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

// Parses the command lines of ring-bench.
namespace rm::bench {

enum class Output { table, json };

// Takes the value of a flag.
using Setter = std::function<Status(std::string_view flag, std::string_view value)>;
struct Flag {
    std::string_view name;  // with its dashes
    Setter set;
    bool alone = false;  // has no value
};

// Setters borrow what they set. number: a whole number; the text may end in Ki, Mi or Gi.
template <typename T>
Setter number(T& to, std::int64_t least, std::int64_t most) {
    return [&to, least, most](std::string_view flag, std::string_view text) -> Status {
        const auto value = parse_count(text, Suffix::binary);
        if (!value || *value < least || *value > most) {
            return invalid_argument("{} '{}' is not a whole number from {} to {}", flag, text,
                                    least, most);
        }
        to = static_cast<T>(*value);
        return {};
    };
}
template <typename T>
Setter one_of(T& to, std::vector<std::pair<std::string_view, std::type_identity_t<T>>> words) {
    return [&to, words = std::move(words)](std::string_view flag, std::string_view text) -> Status {
        std::string known;
        for (const auto& word : words) {
            if (word.first == text) {
                to = word.second;
                return {};
            }
            known += (known.empty() ? "" : " or ") + std::string(word.first);
        }
        return invalid_argument("{} {}: {}", flag, text, known);
    };
}
Setter text(std::string& to);
template <typename T>
Flag alone(std::string_view name, T& to, T value) {
    const auto set = [&to, value](std::string_view, std::string_view) {
        to = value;
        return Status();
    };
    return {name, set, true};
}

struct Command {
    std::string_view program;  // as in "ring-bench balance"
    std::string_view usage;    // ends with a line's end
    std::vector<Flag> flags;   // "--flag VALUE" or "--flag=VALUE"
    // Takes a positional argument; null: none is expected.
    std::function<Status(std::string_view)> word = nullptr;
    // Checks that the flags agree with each other; null: they always do.
    std::function<Status()> check = nullptr;
};

// The error for an unexpected positional argument.
Error not_expected(std::string_view word);

// Parses the arguments and calls `run`. Returns the exit code: that of `run`, 1 after an error of
// `run`, 2 after an error in the arguments; prints the error, or the help if it is requested.
int run_command(std::span<char*> words, const Command& command,
                const std::function<Result<int>()>& run);

}  // namespace rm::bench
