#include "bench/arguments.h"

#include <algorithm>
#include <iostream>

#include "base/words.h"

namespace rm::bench {
namespace {

Error unknown_flag(std::string_view name, const std::vector<Flag>& flags) {
    std::vector<std::string_view> names;
    for (const Flag& flag : flags)
        names.push_back(flag.name);
    const auto likely = likely_word(name, names);
    return invalid_argument("unknown argument {}{}", name,
                            likely ? format("; did you mean {}?", *likely) : std::string());
}

// The flag at `i`, which moves to its last word.
Status read_flag(std::span<char*> words, std::size_t& i, const std::vector<Flag>& flags) {
    const std::string_view word = words[i];
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&](const Flag& known) { return known.name == name; });
    if (flag == flags.end()) return unknown_flag(name, flags);
    if (equals < word.size()) return flag->set(name, word.substr(equals + 1));
    if (flag->alone) return flag->set(name, "");
    if (i + 1 == words.size()) return invalid_argument("{} needs a value", name);
    return flag->set(name, words[++i]);
}

Status read(std::span<char*> words, const Command& command) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word.starts_with("-")) {
            RM_RETURN_IF_ERROR(read_flag(words, i, command.flags));
        } else if (command.word) {
            RM_RETURN_IF_ERROR(command.word(word));
        } else {
            return not_expected(word);
        }
    }
    return command.check ? command.check() : Status();
}

}  // namespace

Setter text(std::string& to) {
    return [&to](std::string_view, std::string_view value) {
        to = value;
        return Status();
    };
}

Error not_expected(std::string_view word) {
    return invalid_argument("'{}' is not expected; options begin with --", word);
}

int run_command(std::span<char*> words, const Command& command,
                const std::function<Result<int>()>& run) {
    const bool help = std::any_of(words.begin(), words.end(), [](std::string_view word) {
        return word == "--help" || word == "-h";
    });
    if (help) {
        std::cout << command.usage;
        return 0;
    }
    if (const Status known = read(words, command); !known) {
        std::cerr << command.program << ": " << known.error().message << "\n" << command.usage;
        return 2;
    }
    const Result<int> code = run();
    if (code) return *code;
    std::cerr << command.program << ": " << code.error().message << "\n";
    return 1;
}

}  // namespace rm::bench
