#include "options/usage.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "base/format.h"
#include "base/text.h"
#include "base/words.h"

namespace rm {
namespace {

std::vector<const CLI::App*> commands_below(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

// Returns the innermost command that the line names, else the program: "ringmaster data prepare".
const CLI::App& deepest(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? app : deepest(*chosen.front());
}

std::string path_of(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    return parent == nullptr ? app.get_name() : path_of(*parent) + " " + app.get_name();
}

std::string help_hint(const CLI::App& app) {
    return format("Run `{} --help` for {}.", path_of(app),
                  commands_below(app).empty() ? "its options" : "the list of commands");
}

std::string list_of_commands(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands_below(app))
        names.push_back(command->get_name());
    return join(names);
}

// `get jobs` of another tool is looked up before `get`.
const Synonym* find_synonym(std::span<const std::string> words, std::span<const Synonym> synonyms) {
    const std::string two = words.size() > 1 ? words[0] + " " + words[1] : words[0];
    for (const std::string& text : {two, words[0]}) {
        const auto found = std::find_if(synonyms.begin(), synonyms.end(),
                                        [&text](const Synonym& s) { return s.word == text; });
        if (found != synonyms.end()) return &*found;
    }
    return nullptr;
}

std::string unknown_command(const CLI::App& app, std::span<const std::string> words,
                            std::span<const Synonym> synonyms) {
    const std::string what = format("'{}' is not a command", words[0]);
    const bool of_program = app.get_parent() == nullptr;
    if (const Synonym* synonym = of_program ? find_synonym(words, synonyms) : nullptr)
        return format("{}; use `{} {}`", what, app.get_name(), synonym->command);
    std::vector<std::string_view> names;
    const auto commands = commands_below(app);
    for (const CLI::App* command : commands)
        names.push_back(command->get_name());
    if (const auto likely = likely_word(words[0], names))
        return format("{}; did you mean `{} {}`?", what, path_of(app), *likely);
    const auto begins = [&words](std::string_view name) { return name.starts_with(words[0]); };
    if (std::count_if(names.begin(), names.end(), begins) == 1)
        return format("{}; did you mean `{} {}`?", what, path_of(app),
                      *std::find_if(names.begin(), names.end(), begins));
    if (names.size() > 10) return what;
    return format("{} of `{}`; it has {}", what, path_of(app), list_of_commands(app));
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
        for (const CLI::Option* option : at->get_options(nullptr)) {
            for (const std::string& name : option->get_lnames())
                names.push_back("--" + name);
        }
    }
    return names;
}

std::string unknown_option(const CLI::App& app, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const std::string what = format("'{}' has no option {}", path_of(app), name);
    if (name == "-o" || name == "--output") return format("{}: it prints in one format only", what);
    const std::vector<std::string> names = option_names(app);
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto likely = likely_word(name, views);
    return likely ? format("{}; did you mean {}?", what, *likely) : what;
}

std::string too_much(const CLI::App& app, const std::string& word) {
    std::string takes;
    for (const CLI::Option* option : app.get_options(nullptr)) {
        if (!option->nonpositional()) takes += (takes.empty() ? "" : " ") + option->get_name(true);
    }
    return format("'{}' is one argument too many: `{}` takes {}", word, path_of(app),
                  takes.empty() ? "options only" : takes);
}

std::string unexpected(const CLI::App& app, const std::vector<std::string>& words,
                       std::span<const Synonym> synonyms) {
    const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return word.size() > 1 && word[0] == '-';
    });
    const CLI::App& reached = deepest(app);
    if (!commands_below(reached).empty() && option != words.begin())
        return unknown_command(reached, words, synonyms);
    // `get nodes`: the parser has passed over the first word and found a command in the second.
    const std::vector<std::string> both = {words[0], reached.get_name()};
    const Synonym* synonym = find_synonym(both, synonyms);
    if (synonym != nullptr && synonym->word == both[0] + " " + both[1])
        return unknown_command(app, both, synonyms);
    return option != words.end() ? unknown_option(reached, *option) : too_much(reached, words[0]);
}

std::string missing_argument(const CLI::App& app, const std::string& name) {
    if (name == "A subcommand")
        return format("`{}` needs a command: {}", path_of(app), list_of_commands(app));
    std::string usage = path_of(app);
    for (const CLI::Option* option : app.get_options(nullptr)) {
        if (!option->get_required()) continue;
        const std::string option_name = option->get_name(!option->nonpositional());
        usage += " " + option_name;
        if (option->nonpositional()) usage += " " + option->get_type_name();
    }
    return format("{} is missing; usage: {}", name, usage);
}

// "--rank: 1 required INT missing" and "--rank: At Most 1 required but received 2".
std::string wrong_count(const std::string& words) {
    const std::string name = words.substr(0, words.find(':'));
    if (words.find("At Most") != std::string::npos)
        return format("{} is given more than once; keep one", name);
    if (words.find("disallowed flag override") != std::string::npos)
        return format("{} takes no value", words.substr(0, words.find(' ')));
    return format("{} needs a value", name);
}

// Rewords the parser's messages that a user can see.
std::string own_words(const CLI::App& app, const CLI::ParseError& error) {
    const std::string words = error.what();
    const auto before = [&words](std::string_view mark) {
        return words.substr(0, words.find(mark));
    };
    const auto after = [&words](std::string_view mark) {
        return words.substr(std::min(words.size(), words.find(mark) + mark.size()));
    };
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
        return missing_argument(deepest(app), before(" is required"));
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return wrong_count(words);
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
        return format("{} and {} exclude each other; keep one", before(" excludes "),
                      after(" excludes "));
    if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
        return format("{} needs {} beside it", before(" requires "), after(" requires "));
    if (const std::string file = before(" was not readable"); file != words)
        return format("'{}' is not a file that this user can read", file);
    return words;
}

}  // namespace

UsageEnd usage_end(const CLI::App& app, const CLI::ParseError& error,
                   std::span<const Synonym> synonyms) {
    UsageEnd end;
    std::ostringstream out;
    std::ostringstream err;
    if (app.exit(error, out, err) == 0) {
        end.out = out.str();
        return end;
    }
    // An unknown word is the cause, whatever the parser missed first.
    const std::vector<std::string> unknown = app.remaining(true);
    const bool value_is_wrong = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
    const std::string what = unknown.empty() || value_is_wrong ? own_words(app, error)
                                                               : unexpected(app, unknown, synonyms);
    end.code = kExitUsage;
    end.err = format("{}: {}\n{}\n", app.get_name(), what, help_hint(deepest(app)));
    return end;
}

int exit_usage(const CLI::App& app, const CLI::ParseError& error) {
    const UsageEnd end = usage_end(app, error);
    std::cout << end.out;
    std::cerr << end.err;
    return end.code;
}

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& run) {
    try {
        app.parse(argc, argv);
        return run();
    } catch (const CLI::ParseError& error) {
        return exit_usage(app, error);
    } catch (const std::exception& error) {
        std::cerr << app.get_name() << ": " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}

}  // namespace rm
