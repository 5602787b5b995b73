#include "cli/command_line.h"

#include <optional>

#include "base/session.h"
#include "cli/command_table.h"
#include "cli/completion.h"
#include "cli/examples.h"
#include "cli/man_pages.h"
#include "options/usage.h"

namespace rm {
namespace {

const std::map<std::string, OutputFormat> kFormats = {
    {"table", OutputFormat::table}, {"wide", OutputFormat::wide}, {"json", OutputFormat::json},
    {"yaml", OutputFormat::yaml},   {"name", OutputFormat::name}, {"csv", OutputFormat::csv}};

// The words of kubectl, Slurm, Docker and the shell for what the commands here do.
constexpr Synonym kSynonyms[] = {{"list", "ls"},
                                 {"ps", "ls"},
                                 {"jobs", "ls"},
                                 {"get jobs", "ls"},
                                 {"get job", "ls"},
                                 {"squeue", "ls"},
                                 {"queue", "ls"},
                                 {"status", "ls"},
                                 {"get", "ls"},
                                 {"get nodes", "nodes"},
                                 {"get node", "nodes"},
                                 {"node", "nodes"},
                                 {"workers", "nodes"},
                                 {"sinfo", "nodes"},
                                 {"describe", "show"},
                                 {"inspect", "show"},
                                 {"info", "show"},
                                 {"get-job", "show"},
                                 {"job", "show"},
                                 {"kill", "cancel"},
                                 {"stop", "cancel"},
                                 {"delete", "cancel"},
                                 {"rm", "cancel"},
                                 {"abort", "cancel"},
                                 {"scancel", "cancel"},
                                 {"run", "submit"},
                                 {"start", "submit"},
                                 {"launch", "submit"},
                                 {"create", "submit"},
                                 {"apply", "submit"},
                                 {"train", "submit"},
                                 {"sbatch", "submit"},
                                 {"attach", "follow"},
                                 {"watch", "follow"},
                                 {"log", "logs"},
                                 {"tail", "logs"},
                                 {"cordon", "drain"},
                                 {"uncordon", "resume"},
                                 {"undrain", "resume"},
                                 {"restart", "continue"},
                                 {"resubmit", "continue"},
                                 {"retry", "continue"},
                                 {"why", "explain"},
                                 {"htop", "top"},
                                 {"check", "doctor"},
                                 {"prepare", "data prepare"}};

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

Result<Shell> parse_shell(const std::string& name) {
    if (name == "bash") return Shell::bash;
    if (name == "zsh") return Shell::zsh;
    if (name == "fish") return Shell::fish;
    return invalid_argument("'{}' is none of bash, zsh, fish", name);
}

// Verbs that need no controller: what they print is here.
void add_completion(Verbs& verbs, CLI::App& app, std::optional<Shell>& shell) {
    CLI::App& verb = verbs.add_plain(app, "completion", "Print a shell completion script");
    add_choice(verb, "SHELL", shell, parse_shell, "bash|zsh|fish",
               "source <(ringmaster completion bash)");
    verb.get_option("SHELL")->required();
}

CLI::App& add_help(Verbs& verbs, CLI::App& app, std::vector<std::string>& words) {
    CLI::App& verb = verbs.add_plain(app, "help", "Show the help of a command");
    verb.add_option("COMMAND", words, "submit, or data prepare");
    return verb;
}

// The command that the words name, or the last group or program on the way there.
CommandLineEnd help_of(CLI::App& app, std::vector<std::string> words) {
    if (words.empty()) {
        // The parser would show the command that it has parsed, which is `help`.
        const char* argv[] = {"ringmaster", "--help"};
        return std::get<CommandLineEnd>(parse_command_line(2, argv));
    }
    CLI::App* at = &app;
    while (!words.empty()) {
        const auto below = at->get_subcommands([](CLI::App*) { return true; });
        const auto found = std::find_if(below.begin(), below.end(), [&words](const CLI::App* verb) {
            return verb->get_name() == words.front();
        });
        if (found == below.end()) {
            // The parser's own way to the words for a command that nobody knows.
            words.insert(words.begin(), {app.get_name()});
            std::vector<const char*> argv;
            for (const std::string& word : words)
                argv.push_back(word.c_str());
            const auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
            if (const auto* end = std::get_if<CommandLineEnd>(&parsed)) return *end;
            break;
        }
        at = *found;
        words.erase(words.begin());
    }
    return {ExitCode::ok, at->help(at == &app ? "" : at->get_parent()->get_name()), ""};
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

}  // namespace

void add_output(CLI::App& verb, OutputFormat& output, const std::vector<std::string>& names) {
    std::map<std::string, OutputFormat> allowed;
    std::string list;
    for (const std::string& name : names) {
        allowed.emplace(name, kFormats.at(name));
        list += (list.empty() ? "" : "|") + name;
    }
    verb.add_option_function<std::string>(
            "-o,--output",
            [allowed, list, &output](const std::string& text) {
                const auto found = allowed.find(text);
                if (found == allowed.end()) {
                    throw CLI::ValidationError(
                        "--output",
                        kFormats.count(text) > 0
                            ? format("this command has no '{}'; it prints {}", text, list)
                            : format("'{}' is not one of {}", text, list));
                }
                output = found->second;
            },
            "Output format")
        ->type_name(list);
}

std::variant<CommandLine, CommandLineEnd> parse_command_line(int argc, const char* const* argv) {
    CLI::App app("Ringmaster trains long-context language models on ordinary machines.",
                 "ringmaster");
    app.require_subcommand(1);
    app.set_version_flag("--version", format("ringmaster {} (protocol {})", RM_VERSION, kProtocol));
    app.get_formatter()->column_width(34);
    CommandLine line;
    AllOptions all;
    Verbs verbs(app);
    std::optional<Shell> shell;
    std::vector<std::string> help_words;
    add_target(app, line.target);
    add_job_commands(verbs, all);
    add_cluster_commands(verbs, all);
    add_other_commands(verbs, all);
    add_completion(verbs, app, shell);
    CLI::App& help = add_help(verbs, app, help_words);
    add_examples(app, app.get_name());
    app.footer(app.get_footer() + kMore);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        UsageEnd end = usage_end(app, error, kSynonyms);
        return CommandLineEnd{end.code == 0 ? ExitCode::ok : ExitCode::usage, end.out, end.err};
    }
    if (help.parsed()) return help_of(app, help_words);
    if (shell) return CommandLineEnd{ExitCode::ok, completion_script(app, *shell), ""};
    line.verb = verbs.chosen();
    if (auto* man = std::get_if<ManOptions>(&line.verb)) man->pages = man_pages(app, RM_VERSION);
    return line;
}

}  // namespace rm
