#include <CLI/CLI.hpp>

#include <set>
#include <vector>

#include "base/format.h"
#include "cli/manual.h"
#include "cli/text.h"

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
    std::string path;                                        // "", "submit", "data prepare"
    std::vector<std::pair<std::string, std::string>> below;  // verbs and their help
    std::vector<OptionWords> options;
    Values positional;
};

// From the help's placeholder: "a|b|c" and "{a,b}" are words, FILE and the like paths, ID a job.
Values values_of(const std::string& name) {
    const std::size_t brace = name.find('{');
    if (brace != std::string::npos) {
        const std::size_t end = name.find('}', brace);
        return {Values::Kind::words, split(name.substr(brace + 1, end - brace - 1), ',')};
    }
    for (const std::string& part : split(name, '|')) {
        for (const char* path : {"FILE", "DIR", "PATH", "PREFIX", "INPUT"}) {
            if (part == path) return {Values::Kind::file, {}};
        }
    }
    if (name == "ID") return {Values::Kind::job, {}};
    if (name == "NODE") return {Values::Kind::node, {}};
    if (name.find('|') != std::string::npos) return {Values::Kind::words, split(name, '|')};
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

void add_command(const CLI::App& app, const std::string& path,
                 const std::vector<OptionWords>& inherited, std::vector<Command>& commands) {
    Command command{.path = path, .below = {}, .options = {}, .positional = {}};
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
        add_command(*verb, (path.empty() ? "" : path + " ") + verb->get_name(), to_inherit,
                    commands);
    }
}

std::string joined(const std::vector<std::string>& words, std::string_view with) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : std::string(with)) + word;
    return text;
}

std::vector<std::string> option_names(const Command& command) {
    std::vector<std::string> names;
    for (const OptionWords& option : command.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

std::vector<std::string> verb_names(const Command& command) {
    std::vector<std::string> names;
    for (const auto& [name, help] : command.below)
        names.push_back(name);
    return names;
}

// How a shell offers words, and files; the rest of the two scripts is the same.
struct Dialect {
    std::string_view words_begin;
    std::string_view words_end;
    std::string_view files;
};

constexpr Dialect kBash = {R"(COMPREPLY=($(compgen -W ")", R"(" -- "$cur")))",
                           R"(COMPREPLY=($(compgen -f -- "$cur")))"};
constexpr Dialect kZsh = {"compadd -- ${=:-", "}", "_files"};

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
    std::string text;
    for (const std::string& name : names)
        text += format("{}\"{}:{}\"", text.empty() ? "" : "|", path, name);
    return text;
}

// The four tables that both shells read: the words that name a verb, the options that take a value,
// the candidates for that value, and other words that may stand there.
std::string verb_table(const std::vector<Command>& commands) {
    std::string text;
    for (const Command& command : commands) {
        if (command.path.empty()) continue;
        const std::size_t cut = command.path.rfind(' ');
        const std::string above = cut == std::string::npos ? "" : command.path.substr(0, cut);
        const std::string name =
            cut == std::string::npos ? command.path : command.path.substr(cut + 1);
        text += format("            \"{}:{}\") verb=\"{}\" ;;\n", above, name, command.path);
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
    return joined({names.begin(), names.end()}, "|");
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
std::string target_table(const std::vector<Command>& commands, std::string_view word,
                         std::string_view value) {
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
    return format(
        "        case \"$verb:{}\" in\n"
        "            {}) ;;\n"
        "            {}) target+=(\"{}\" \"{}\") ;;\n"
        "        esac\n",
        word, own, of_program, word, value);
}

std::string place_table(const std::vector<Command>& commands, const Dialect& dialect) {
    std::string text;
    for (const Command& command : commands) {
        text += format("        \"{}:-\") {} ;;\n", command.path,
                       offer(dialect, joined(option_names(command), " ")));
        const std::string place = command.below.empty()
                                      ? offer(dialect, command.positional)
                                      : offer(dialect, joined(verb_names(command), " "));
        text += format("        \"{}:\") {} ;;\n", command.path, place);
    }
    return text;
}

std::string bash_script(const std::vector<Command>& commands) {
    return "# ringmaster completion bash\n"
           "_ringmaster() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= i "
           "dash=\n"
           "    local -a target=()\n"
           "    COMPREPLY=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n" +
           target_table(commands, "${COMP_WORDS[i]}", "${COMP_WORDS[i+1]}") +
           "        case \"${COMP_WORDS[i]}\" in " + valued_table(commands) +
           ") ((i++)); continue ;; esac\n"
           "        case \"$verb:${COMP_WORDS[i]}\" in\n" +
           verb_table(commands) +
           "        esac\n"
           "    done\n"
           "    case \"$verb:$prev\" in\n" +
           value_table(commands, kBash) +
           "    esac\n"
           "    [[ $cur == -* ]] && dash=-\n"
           "    case \"$verb:$dash\" in\n" +
           place_table(commands, kBash) +
           "    esac\n"
           "}\n"
           "complete -o filenames -F _ringmaster ringmaster\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
    return "#compdef ringmaster\n"
           "_ringmaster() {\n"
           "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} verb= i dash=\n"
           "    local -a target=()\n"
           "    for ((i = 2; i < CURRENT; i++)); do\n" +
           target_table(commands, "${words[i]}", "${words[i+1]}") +
           "        case \"${words[i]}\" in (" + valued_table(commands) +
           ") ((i++)); continue ;; esac\n"
           "        case \"$verb:${words[i]}\" in\n" +
           verb_table(commands) +
           "        esac\n"
           "    done\n"
           "    case \"$verb:$prev\" in\n" +
           value_table(commands, kZsh) +
           "    esac\n"
           "    [[ $cur == -* ]] && dash=-\n"
           "    case \"$verb:$dash\" in\n" +
           place_table(commands, kZsh) +
           "    esac\n"
           "}\n"
           "if [[ ${funcstack[1]} == _ringmaster ]]; then _ringmaster; else compdef _ringmaster "
           "ringmaster; fi\n";
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
    std::string condition;
    for (const std::string& word : split(command.path, ' ')) {
        condition += (condition.empty() ? "" : "; and ") +
                     std::string("__fish_seen_subcommand_from ") + word;
    }
    if (!command.below.empty()) {
        condition += (condition.empty() ? "not" : "; and not") +
                     std::string(" __fish_seen_subcommand_from ") +
                     joined(verb_names(command), " ");
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
    add_command(app, "", {}, commands);
    switch (shell) {
        case Shell::bash:
            return bash_script(commands);
        case Shell::zsh:
            return zsh_script(commands);
        case Shell::fish:
            return fish_script(commands);
    }
    return "";
}

}  // namespace rm
