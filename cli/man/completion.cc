#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/text.h"
#include "cli/man/manual.h"

namespace rm {
namespace {

bool takes_value(const CLI::Option* option) {
    return option->nonpositional() && option->get_items_expected_max() > 0;
}

std::vector<std::string> names_of(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames())
        names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        names.push_back("--" + name);
    return names;
}

// The command's own options, then the program's options with a value, which every command accepts.
// Omits those that the command redefines (`history --state`).
std::vector<const CLI::Option*> options_of(const CLI::App& command, const CLI::App& program) {
    auto options = command.get_options([](auto* option) { return option->nonpositional(); });
    if (&command == &program) return options;
    for (const CLI::Option* option : program.get_options(takes_value)) {
        if (command.get_option_no_throw(names_of(*option).back()) == nullptr)
            options.push_back(option);
    }
    return options;
}

std::string line(std::string_view word, std::string_view help = "") {
    return format("{}{}{}\n", word, help.empty() ? "" : "\t", help);
}

// Derives the candidates from the help's placeholder: "a|b|c" lists words, FILE and the like stand
// for paths, ID for a job, NODE for a node.
Completion values_of(const std::string& placeholder, std::vector<std::string> target) {
    const std::vector<std::string_view> words = split(placeholder, '|');
    for (const char* path : {"FILE", "DIR", "PATH", "PREFIX", "INPUT"}) {
        if (std::find(words.begin(), words.end(), path) != words.end())
            return {line(Completion::kFiles), {}};
    }
    const bool is_job = placeholder == "ID";
    if (is_job || placeholder == "NODE") {
        const std::string verb = is_job ? "ls -a -o name" : "nodes -o name";
        for (const std::string_view word : split(verb, ' '))
            target.emplace_back(word);
        return {"", std::move(target)};
    }
    return {words.size() > 1 ? join(words, "\n") + "\n" : "", {}};
}

Completion values_of(const CLI::Option& option, const std::vector<std::string>& target) {
    Completion values = values_of(option.get_type_name(), target);
    const bool unknown = values.lines.empty() && values.command.empty();
    if (!unknown || option.nonpositional()) return values;
    return values_of(option.get_name(true), target);
}

// Null for a flag and for a word that is no option.
const CLI::Option* valued_option(const CLI::App& command, const CLI::App& program,
                                 const std::string& word) {
    for (const CLI::Option* option : options_of(command, program))
        if (takes_value(option) && option->check_name(word)) return option;
    return nullptr;
}

// Returns the command itself if the word is not a verb.
const CLI::App* verb_below(const CLI::App& command, const std::string& word) {
    const auto is_named = [&word](const CLI::App* verb) { return verb->get_name() == word; };
    const auto verbs = command.get_subcommands(is_named);
    return verbs.empty() ? &command : verbs.front();
}

Completion option_names(const CLI::App& command, const CLI::App& program) {
    Completion names;
    for (const CLI::Option* option : options_of(command, program)) {
        for (const std::string& name : names_of(*option))
            names.lines += line(name, option->get_description());
    }
    return names;
}

Completion verbs_or_arguments(const CLI::App& command, const std::vector<std::string>& target) {
    Completion offered;
    for (const CLI::App* verb : command.get_subcommands([](const CLI::App*) { return true; }))
        offered.lines += line(verb->get_name(), verb->get_description());
    const auto is_argument = [](const CLI::Option* option) { return !option->nonpositional(); };
    const auto arguments = command.get_options(is_argument);
    if (!offered.lines.empty() || arguments.empty()) return offered;
    return values_of(*arguments.back(), target);
}

// The shells drop the lines that do not match the word being typed.
constexpr const char* kBash = R"(# ringmaster completion bash
_ringmaster() {
    local cur=${COMP_WORDS[COMP_CWORD]} words
    words=$(timeout 1 ringmaster __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
    if [[ $words == :files ]]; then
        COMPREPLY=($(compgen -f -- "$cur"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}
complete -o filenames -F _ringmaster ringmaster
)";

constexpr const char* kZsh = R"(#compdef ringmaster
_ringmaster() {
    local offered
    offered=$(timeout 1 ringmaster __complete "${(@)words[2,CURRENT]}" 2>/dev/null | cut -f1)
    if [[ $offered == :files ]]; then _files; else compadd -- ${(f)offered}; fi
}
if [[ ${funcstack[1]} == _ringmaster ]]; then _ringmaster; else compdef _ringmaster ringmaster; fi
)";

// The program sees `--output=ta` as two words; fish expects the option in front of each value.
constexpr const char* kFish = R"(# ringmaster completion fish
function __ringmaster_offered
    set -l typed (commandline -ct)
    set -l option (string match -r -- '^--[^=]+=' "$typed")
    set -l value (string replace -r -- '^--[^=]+=' '' "$typed")
    set -l words (commandline -opc) (string trim -r -c = -- $option) "$value"
    set -l offered (timeout 1 ringmaster __complete $words[2..] 2>/dev/null)
    test "$offered" = :files; and set offered (__fish_complete_path "$value")
    for word in $offered
        printf '%s\n' "$option$word"
    end
end
complete -c ringmaster -f -a '(__ringmaster_offered)'
)";

}  // namespace

std::string completion_script(std::string_view shell) {
    return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

Completion complete(const CLI::App& app, std::span<const std::string> words) {
    const CLI::App* command = &app;
    const CLI::Option* open = nullptr;  // the next word is its value
    std::vector<std::string> target;    // options of the program, which choose the controller
    for (const std::string& word : words.first(words.size() - 1)) {
        if (open != nullptr) {
            const std::string name = names_of(*open).back();
            if (open == app.get_option_no_throw(name)) target.insert(target.end(), {name, word});
            open = nullptr;
        } else if (open = valued_option(*command, app, word); open == nullptr) {
            command = verb_below(*command, word);
        }
    }
    if (open != nullptr) return values_of(*open, target);
    if (words.back().starts_with('-')) return option_names(*command, app);
    return verbs_or_arguments(*command, target);
}

}  // namespace rm
