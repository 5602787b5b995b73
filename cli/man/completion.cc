#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>
#include <vector>

#include "base/format.h"
#include "cli/man/manual.h"
#include "cli/show/text.h"

namespace rm {
namespace {

// The candidates for a value.
struct Values {
    enum class Kind { none, words, file, job, node } kind = Kind::none;
    std::vector<std::string> words;
};

struct OptionWords {
    std::vector<std::string> names;  // -o, --output
    std::string help;
    bool takes_value = false;
    bool of_program = false;  // may stand anywhere
    Values values;
};

struct Command {
    std::string path;   // "", "submit", "data prepare"
    std::string entry;  // "data:prepare": the path above it and its last word
    std::vector<std::pair<std::string, std::string>> below;  // verbs and their help
    std::vector<OptionWords> options;
    Values positional;
};

// From the help's placeholder: "a|b|c" are words, FILE and the like paths, ID a job.
Values values_of(const std::string& name) {
    const std::vector<std::string> words = split(name, '|');
    for (const char* path : {"FILE", "DIR", "PATH", "PREFIX", "INPUT"}) {
        if (std::find(words.begin(), words.end(), path) != words.end())
            return {Values::Kind::file, {}};
    }
    if (name == "ID") return {Values::Kind::job, {}};
    if (name == "NODE") return {Values::Kind::node, {}};
    if (words.size() > 1) return {Values::Kind::words, words};
    return {};
}

OptionWords words_of(const CLI::Option& option) {
    OptionWords words{.names = {},
                      .help = option.get_description(),
                      .takes_value = option.get_items_expected_max() > 0,
                      .of_program = false,
                      .values = {}};
    for (const std::string& name : option.get_snames())
        words.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        words.names.push_back("--" + name);
    if (words.takes_value) words.values = values_of(option.get_type_name());
    return words;
}

void add_command(const CLI::App& app, const std::string& path, const std::string& entry,
                 const std::vector<OptionWords>& inherited, std::vector<Command>& commands) {
    Command command{.path = path, .entry = entry, .below = {}, .options = {}, .positional = {}};
    for (const CLI::Option* option : app.get_options(nullptr)) {
        if (!option->nonpositional()) {
            command.positional = values_of(option->get_type_name());
            if (command.positional.kind == Values::Kind::none) {
                command.positional = values_of(option->get_name(true));
            }
        } else {
            command.options.push_back(words_of(*option));
            command.options.back().of_program = path.empty();
        }
    }
    std::vector<OptionWords> to_inherit;
    for (const OptionWords& option : command.options) {
        if (path.empty() && option.takes_value) to_inherit.push_back(option);
    }
    for (const OptionWords& option : inherited) {
        const bool own = std::any_of(
            command.options.begin(), command.options.end(),
            [&](const OptionWords& other) { return other.names.back() == option.names.back(); });
        if (!own) command.options.push_back(option);
        to_inherit.push_back(option);
    }
    const auto below = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* verb : below)
        command.below.emplace_back(verb->get_name(), verb->get_description());
    commands.push_back(std::move(command));
    for (const CLI::App* verb : below) {
        const std::string& name = verb->get_name();
        add_command(*verb, path.empty() ? name : path + " " + name, path + ":" + name, to_inherit,
                    commands);
    }
}

std::vector<std::string> option_names(const Command& command) {
    std::vector<std::string> names;
    for (const OptionWords& option : command.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

std::string verb_names(const Command& command) {
    return joined(command.below, " ", [](const auto& verb) { return verb.first; });
}

// In what bash and zsh differ; the rest of the two scripts is the same.
struct Dialect {
    std::string_view head;
    std::string_view begin;   // of the function
    std::string_view array;   // of the line's words
    std::string_view cursor;  // the index of the word that is being typed
    int first;                // the index of the first word behind the program
    std::string_view words_begin;
    std::string_view words_end;
    std::string_view files;
    std::string_view tail;
};

constexpr Dialect kBash = {"# ringmaster completion bash\n",
                           "    COMPREPLY=()\n",
                           "COMP_WORDS",
                           "COMP_CWORD",
                           1,
                           R"(COMPREPLY=($(compgen -W ")",
                           R"(" -- "$cur")))",
                           R"(COMPREPLY=($(compgen -f -- "$cur")))",
                           "complete -o filenames -F _ringmaster ringmaster\n"};
constexpr Dialect kZsh = {"#compdef ringmaster\n",
                          "",
                          "words",
                          "CURRENT",
                          2,
                          "compadd -- ${=:-",
                          "}",
                          "_files",
                          "if [[ ${funcstack[1]} == _ringmaster ]]; then _ringmaster; else compdef "
                          "_ringmaster ringmaster; fi\n"};

std::string offer(const Dialect& dialect, const std::string& words) {
    return std::string(dialect.words_begin) + words + std::string(dialect.words_end);
}

std::string offer(const Dialect& dialect, const Values& values) {
    // Completes ids of the cluster that the line names.
    constexpr std::string_view kIds =
        R"($(timeout 1 ringmaster "${{target[@]}}" {} -o name 2>/dev/null))";
    switch (values.kind) {
        case Values::Kind::none:
            return ":";
        case Values::Kind::words:
            return offer(dialect, joined(values.words, " "));
        case Values::Kind::file:
            return std::string(dialect.files);
        case Values::Kind::job:
            return offer(dialect, format(kIds, "ls -a"));
        case Values::Kind::node:
            return offer(dialect, format(kIds, "nodes"));
    }
    return ":";
}

std::string pattern(const std::string& path, const std::vector<std::string>& names) {
    return joined(names, "|", [&path](auto& name) { return format("\"{}:{}\"", path, name); });
}

// The four tables that both shells read: the words that name a verb, the options that take a value,
// the candidates for that value, and other words that may stand there.
std::string verb_table(const std::vector<Command>& commands) {
    std::string text;
    for (const Command& command : commands) {
        if (!command.path.empty())
            text += format("            \"{}\") verb=\"{}\" ;;\n", command.entry, command.path);
    }
    return text;
}

std::string valued_table(const std::vector<Command>& commands) {
    std::set<std::string> names;
    for (const Command& command : commands) {
        for (const OptionWords& option : command.options) {
            if (option.takes_value) names.insert(option.names.begin(), option.names.end());
        }
    }
    return joined(names, "|");
}

// Global options last: `history --state` differs from the global one.
std::string value_table(const std::vector<Command>& commands, const Dialect& dialect) {
    std::string text;
    std::string of_program;
    for (const Command& command : commands) {
        for (const OptionWords& option : command.options) {
            if (!option.takes_value || (option.of_program && !command.path.empty())) continue;
            const std::string names = option.of_program ? "*:" + joined(option.names, "|*:")
                                                        : pattern(command.path, option.names);
            (option.of_program ? of_program : text) +=
                format("        {}) {}; return ;;\n", names, offer(dialect, option.values));
        }
    }
    return text + of_program;
}

// The words before the cursor that select the controller: kept in `target` with their values.
// Excludes a verb's own option of the same name (`history --state`).
std::string target_table(const std::vector<Command>& commands, std::string_view array) {
    std::string own;
    std::string of_program;
    for (const Command& command : commands) {
        for (const OptionWords& option : command.options) {
            if (!option.takes_value) continue;
            if (command.path.empty()) {
                of_program += (of_program.empty() ? "*:" : "|*:") + joined(option.names, "|*:");
            } else if (!option.of_program) {
                own += (own.empty() ? "" : "|") + pattern(command.path, option.names);
            }
        }
    }
    return format(R"(        case "$verb:${{{}[i]}}" in
            {}) ;;
            {}) target+=("${{{}[i]}}" "${{{}[i+1]}}") ;;
        esac
)",
                  array, own, of_program, array, array);
}

std::string place_table(const std::vector<Command>& commands, const Dialect& dialect) {
    std::string text;
    for (const Command& command : commands) {
        text += format("        \"{}:-\") {} ;;\n", command.path,
                       offer(dialect, joined(option_names(command), " ")));
        const std::string place = command.below.empty() ? offer(dialect, command.positional)
                                                        : offer(dialect, verb_names(command));
        text += format("        \"{}:\") {} ;;\n", command.path, place);
    }
    return text;
}

std::string script(const std::vector<Command>& commands, const Dialect& shell) {
    const std::string word = format("${{{}[i]}}", shell.array);
    return format(R"({}_ringmaster() {{
    local cur=${{{}[{}]}} prev=${{{}[{}-1]}} verb= i dash=
    local -a target=()
{}    for ((i = {}; i < {}; i++)); do
{}        case "{}" in ({}) ((i++)); continue ;; esac
        case "$verb:{}" in
{}        esac
    done
    case "$verb:$prev" in
{}    esac
    [[ $cur == -* ]] && dash=-
    case "$verb:$dash" in
{}    esac
}}
{})",
                  shell.head, shell.array, shell.cursor, shell.array, shell.cursor, shell.begin,
                  shell.first, shell.cursor, target_table(commands, shell.array), word,
                  valued_table(commands), word, verb_table(commands), value_table(commands, shell),
                  place_table(commands, shell), shell.tail);
}

std::string fish_quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + "'";
}

std::string fish_values(const Values& values) {
    switch (values.kind) {
        case Values::Kind::none:
            return "-x";
        case Values::Kind::words:
            return "-x -a " + fish_quoted(joined(values.words, " "));
        case Values::Kind::file:
            return "-r -F";
        case Values::Kind::job:
            return "-x -a '(__ringmaster_ids ls -a)'";
        case Values::Kind::node:
            return "-x -a '(__ringmaster_ids nodes)'";
    }
    return "-x";
}

std::string fish_option(const OptionWords& option, const std::string& where) {
    std::string line = "complete -c ringmaster" + where;
    for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        line += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
    }
    if (option.takes_value) line += " " + fish_values(option.values);
    return line + " -d " + fish_quoted(option.help) + "\n";
}

// Where a command's words stand: behind all of its path, and before a verb below it.
std::string fish_place(const Command& command) {
    std::string condition = joined(split(command.path, ' '), "; and ", [](auto& word) {
        return "__fish_seen_subcommand_from " + word;
    });
    if (!command.below.empty()) {
        condition += (condition.empty() ? "not" : "; and not") +
                     std::string(" __fish_seen_subcommand_from ") + verb_names(command);
    }
    return " -n " + fish_quoted(condition);
}

std::vector<std::string> target_options(const std::vector<Command>& commands) {
    std::vector<std::string> names;
    for (const OptionWords& option : commands.front().options) {
        if (option.takes_value) names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return names;
}

std::string fish_script(const std::vector<Command>& commands) {
    std::string text =
        "# ringmaster completion fish\ncomplete -c ringmaster -f\n"
        "function __ringmaster_ids\n"  // of the cluster that the line names
        "    set -l words (commandline -opc)\n"
        "    set -l target\n"
        "    for i in (seq 2 (count $words))\n"
        "        switch $words[$i]\n"
        "            case " +
        joined(target_options(commands), " ") +
        "\n"
        "                set -a target $words[$i] $words[(math $i + 1)]\n"
        "        end\n"
        "    end\n"
        "    timeout 1 ringmaster $target $argv -o name 2>/dev/null\n"
        "end\n";
    for (const Command& command : commands) {
        const std::string where = fish_place(command);
        for (const auto& [name, help] : command.below) {
            text +=
                format("complete -c ringmaster{} -a {} -d {}\n", where, name, fish_quoted(help));
        }
        if (command.positional.kind != Values::Kind::none) {
            text += format("complete -c ringmaster{} {}\n", where, fish_values(command.positional));
        }
        for (const OptionWords& option : command.options)
            text += fish_option(option, where);
    }
    return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, Shell shell) {
    std::vector<Command> commands;
    add_command(app, "", "", {}, commands);
    switch (shell) {
        case Shell::bash:
            return script(commands, kBash);
        case Shell::zsh:
            return script(commands, kZsh);
        case Shell::fish:
            return fish_script(commands);
    }
    return "";
}

}  // namespace rm
