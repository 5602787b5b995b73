#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <map>

#include "base/text.h"
#include "cli/man/manual.h"
#include "cli/verb.h"
#include "options/usage.h"
#include "options/version.h"
#include "spec/session.h"

namespace rm {
namespace {

// A command, and the words of kubectl, Slurm, Docker and the shell for what it does.
struct SameAs {
    std::string_view command;
    std::vector<std::string_view> words;
};
const SameAs kSameAs[] = {
    {"ls", {"list", "ps", "jobs", "get jobs", "get job", "squeue", "queue", "status", "get"}},
    {"nodes", {"get nodes", "get node", "node", "workers", "sinfo"}},
    {"show", {"describe", "inspect", "info", "get-job", "job"}},
    {"cancel", {"kill", "stop", "delete", "rm", "abort", "scancel"}},
    {"submit", {"run", "start", "launch", "create", "apply", "train", "sbatch"}},
    {"follow", {"attach", "watch"}},
    {"logs", {"log", "tail"}},
    {"drain", {"cordon"}},
    {"resume", {"uncordon", "undrain"}},
    {"continue", {"restart", "resubmit", "retry"}},
    {"explain", {"why"}},
    {"top", {"htop"}},
    {"doctor", {"check"}},
    {"data prepare", {"prepare"}}};

std::vector<Synonym> synonyms() {
    std::vector<Synonym> all;
    for (const SameAs& same : kSameAs) {
        for (const std::string_view word : same.words)
            all.push_back({word, same.command});
    }
    return all;
}

void add_target(CLI::App& app, TargetFlags& target) {
    const auto add = [&app](const char* name, std::string& value, const char* type,
                            const char* help) {
        app.add_option(name, value, help)->type_name(type)->group("Which controller");
    };
    add("--address", target.address, "ADDRESS",
        "The controller: host:port (beyond 127.0.0.1 with --ca), or unix:/path "
        "[RINGMASTER_ADDRESS]");
    add("--ca", target.security.ca, "FILE",
        "CA certificate (PEM) of the controller; enables TLS [RINGMASTER_CA]");
    add("--cert", target.security.certificate, "FILE",
        "Client certificate (PEM) [RINGMASTER_CERT]");
    add("--key", target.security.key, "FILE", "Its key (PEM) [RINGMASTER_KEY]");
    add("--token-file", target.security.token_file, "FILE",
        "File that holds a token [RINGMASTER_TOKEN_FILE]");
    add("--server-name", target.security.server_name, "NAME",
        "Name expected in the controller's certificate, if not the address");
    add("--context", target.context, "CONTEXT",
        "A context of the config file [RINGMASTER_CONTEXT]");
    add("--state", target.state_dir, "DIR",
        "The cluster that `ringmaster up` runs in this directory");
    add("--config", target.config, "FILE", "Instead of ~/.config/ringmaster/config.yaml");
}

const std::map<std::string, OutputFormat> kFormats = {
    {"table", OutputFormat::table}, {"wide", OutputFormat::wide}, {"json", OutputFormat::json},
    {"yaml", OutputFormat::yaml},   {"name", OutputFormat::name}, {"csv", OutputFormat::csv},
    {"svg", OutputFormat::svg}};

// `list`: the formats of the verb, table|json.
CLI::Option* add_format(CLI::App& verb, const VerbOption& option, OutputFormat& format) {
    const auto take = [list = option.rules.type, &format](const std::string& text) {
        const std::vector<std::string_view> names = split(list, '|');
        if (kFormats.count(text) == 0)
            throw CLI::ValidationError("--output", rm::format("'{}' is not one of {}", text, list));
        if (std::find(names.begin(), names.end(), text) == names.end())
            throw CLI::ValidationError(
                "--output", rm::format("this command has no '{}'; it prints {}", text, list));
        format = kFormats.at(text);
    };
    return verb.add_option_function<std::string>(option.names, take, option.help);
}

CLI::Option* add_option(CLI::App& verb, const VerbOption& option) {
    const auto add = [&verb, &option](auto* value) -> CLI::Option* {
        using Value = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) {
            return verb.add_flag(option.names, *value, option.help);
        } else if constexpr (std::is_same_v<Value, OutputFormat>) {
            return add_format(verb, option, *value);
        } else {
            return verb.add_option(option.names, *value, option.help);
        }
    };
    return std::visit(add, option.value);
}

void add_options(CLI::App& verb, const VerbOptions& options) {
    std::vector<CLI::Option*> added;
    for (const VerbOption& option : options.list()) {
        const OptionRules& rules = option.rules;
        added.push_back(add_option(verb, option)->required(rules.required));
        if (!rules.type.empty()) added.back()->type_name(rules.type);
        if (rules.check) added.back()->check(rules.check);
        if (rules.one_value) added.back()->allow_extra_args(false);
    }
    for (std::size_t i = 0; i < added.size(); ++i) {
        const OptionRules& rules = options.list()[i].rules;
        if (!rules.needs.empty()) added[i]->needs(rules.needs);
        if (!rules.excludes.empty()) added[i]->excludes(rules.excludes);
    }
}

std::variant<CommandLine, CommandLineEnd> parse_words(const std::vector<std::string>& words) {
    std::vector<const char*> argv = {"ringmaster"};
    for (const std::string& word : words)
        argv.push_back(word.c_str());
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

// The help of the command that the words name, or of the last group or program on the way there.
CommandLineEnd help_of(CLI::App& app, std::vector<std::string> words) {
    // The parser would show the command that it has parsed, which is `help`.
    if (words.empty()) return std::get<CommandLineEnd>(parse_words({"--help"}));
    CLI::App* at = &app;
    while (!words.empty()) {
        const auto below = at->get_subcommands([](CLI::App*) { return true; });
        const auto found = std::find_if(below.begin(), below.end(), [&words](const CLI::App* verb) {
            return verb->get_name() == words.front();
        });
        if (found == below.end()) {
            // Makes the parser itself report an unknown command.
            const auto parsed = parse_words(words);
            if (const auto* end = std::get_if<CommandLineEnd>(&parsed)) return *end;
            break;
        }
        at = *found;
        words.erase(words.begin());
    }
    return {ExitCode::ok, at->help(at == &app ? "" : at->get_parent()->get_name()), ""};
}

constexpr std::string_view kCompleteVerb = "__complete";  // only for the completion scripts

std::variant<CommandLine, CommandLineEnd> completed(const CLI::App& app,
                                                    const std::vector<std::string>& words) {
    const Completion completion = complete(app, words);
    if (!completion.command.empty()) return parse_words(completion.command);
    return CommandLineEnd{ExitCode::ok, completion.lines, ""};
}

constexpr const char* kMore =
    "\n\n`ringmaster COMMAND --help` shows a command's options; `ringmaster man DIR` writes the "
    "manual.\n";

// Below the options of every command.
void add_examples(CLI::App& app, const std::string& path) {
    const std::string text = examples_text(examples_of(path));
    app.footer(text.empty() ? std::string() : "\n" + text);
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
        add_examples(*command, path + " " + command->get_name());
}

// The command line and the variables that a parse fills.
class Program {
public:
    Program() {
        app.require_subcommand(1);
        app.set_version_flag("--version",
                             format("ringmaster {} (protocol {})", version(), kProtocol));
        app.get_formatter()->column_width(34);
        add_target(app, target);
        const std::vector<VerbGroup> groups = verb_table();
        for (const VerbGroup& group : groups) {
            for (const Verb& verb : group.verbs)
                add_verb(app, verb, group.heading);
        }
        add_own_verbs(groups.back().heading);
        add_examples(app, app.get_name());
        app.footer(app.get_footer() + kMore);
    }

    CLI::App app{"Ringmaster trains long-context language models on ordinary machines.",
                 "ringmaster"};
    TargetFlags target;
    std::unique_ptr<Command>* chosen = nullptr;  // the verb that the line names
    CLI::App* help = nullptr;
    std::vector<std::string> help_words;
    std::string shell;

private:
    void add_verb(CLI::App& above, const Verb& verb, const std::string& heading) {
        CLI::App& added = *above.add_subcommand(verb.name, verb.help)->group(heading);
        added.fallthrough();
        if (!verb.make) added.require_subcommand(1);
        for (const Verb& below : verb.below)
            add_verb(added, below, heading);
        if (!verb.make) return;
        std::unique_ptr<Command>& command = commands_.emplace_back(verb.make());
        added.callback([this, &command] { chosen = &command; });
        add_options(added, command->options());
    }

    // Verbs that describe the others: their output is made here.
    void add_own_verbs(const std::string& heading) {
        CLI::App* completion =
            app.add_subcommand("completion", "Print a shell completion script")->group(heading);
        completion->add_option("SHELL", shell, "source <(ringmaster completion bash)")
            ->type_name("bash|zsh|fish")
            ->check(one_of({"bash", "zsh", "fish"}))
            ->required();
        help = app.add_subcommand("help", "Show the help of a command")->group(heading);
        help->add_option("COMMAND", help_words, "submit, or data prepare");
    }

    std::deque<std::unique_ptr<Command>> commands_;  // must not move: `chosen` points to one
};

}  // namespace

std::variant<CommandLine, CommandLineEnd> parse_command_line(int argc, const char* const* argv) {
    Program program;
    CLI::App& app = program.app;
    if (argc > 2 && argv[1] == kCompleteVerb) return completed(app, {argv + 2, argv + argc});
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        UsageEnd end = usage_end(app, error, synonyms());
        return CommandLineEnd{end.code == 0 ? ExitCode::ok : ExitCode::usage, end.out, end.err};
    }
    if (program.help->parsed()) return help_of(app, program.help_words);
    if (!program.shell.empty())
        return CommandLineEnd{ExitCode::ok, completion_script(program.shell), ""};
    return CommandLine{program.target, std::move(*program.chosen)};
}

std::vector<ManPage> command_line_pages() {
    return man_pages(Program().app, version());
}

}  // namespace rm
