#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <map>
#include <sstream>

namespace rm {
namespace {

const std::map<std::string, OutputFormat> kFormats = {
    {"table", OutputFormat::table}, {"wide", OutputFormat::wide}, {"json", OutputFormat::json},
    {"yaml", OutputFormat::yaml},   {"name", OutputFormat::name}, {"csv", OutputFormat::csv}};

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
                    throw CLI::ValidationError("--output", "'" + text + "' is not one of " + list);
                }
                output = found->second;
            },
            "How to print: " + list)
        ->type_name("FORMAT");
}

void add_target(CLI::App& app, TargetFlags& target) {
    app.add_option("--address", target.address,
                   "The controller: host:port on loopback, or unix:/path [RINGMASTER_ADDRESS]")
        ->type_name("ADDRESS");
    app.add_option("--context", target.context, "A context of the config file [RINGMASTER_CONTEXT]")
        ->type_name("NAME");
    app.add_option("--state", target.state_dir,
                   "Talk to the cluster that `ringmaster up` runs in this directory")
        ->type_name("DIR");
    app.add_option("--config", target.config, "Instead of ~/.config/ringmaster/config.yaml")
        ->type_name("FILE");
}

// One subcommand: its options are bound to `options`, which becomes the result when it was chosen.
class Verbs {
public:
    explicit Verbs(CLI::App& app) : app_(app) {}

    template <typename Options>
    CLI::App& add(const char* name, const char* help, Options& options) {
        return add_below(app_, name, help, options);
    }
    // A verb of a group: `data prepare`.
    template <typename Options>
    CLI::App& add_below(CLI::App& group, const char* name, const char* help, Options& options) {
        CLI::App& verb = *group.add_subcommand(name, help);
        verb.fallthrough();
        verb.callback([this, &options] { chosen_ = options; });
        return verb;
    }
    CLI::App& add_group(const char* name, const char* help) {
        CLI::App& group = *app_.add_subcommand(name, help);
        group.fallthrough();
        group.require_subcommand(1);
        return group;
    }
    const VerbOptions& chosen() const { return chosen_; }

private:
    CLI::App& app_;
    VerbOptions chosen_;
};

struct AllOptions {
    SubmitOptions submit;
    LsOptions ls;
    ShowOptions show;
    LogsOptions logs;
    BackupOptions backup;
    RestoreOptions restore;
    CancelOptions cancel;
    HistoryOptions history;
    NodesOptions nodes;
    UpOptions up;
    PrepareDataOptions prepare_data;
    VersionOptions version;
};

void add_job_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& submit = verbs.add("submit", "Submit a job file; prints the job's id", all.submit);
    submit.add_option("FILE", all.submit.file, "The job file; - reads stdin")->required();
    submit.add_flag("--follow", all.submit.follow, "Show the job to its end; Ctrl-C detaches");
    add_output(submit, all.submit.output, {"name", "json", "yaml"});

    CLI::App& ls = verbs.add("ls", "List jobs", all.ls);
    ls.add_flag("-a,--all", all.ls.all, "Ended jobs too");
    add_output(ls, all.ls.output, {"table", "wide", "json", "yaml", "name"});

    CLI::App& show = verbs.add("show", "Everything about one job", all.show);
    show.add_option("ID", all.show.id, "The job; a unique beginning is enough")->required();
    add_output(show, all.show.output, {"table", "json", "yaml", "name"});

    CLI::App& logs = verbs.add("logs", "The log of one rank of a job", all.logs);
    logs.add_option("ID", all.logs.id, "The job; a unique beginning is enough")->required();
    logs.add_flag("-f,--follow", all.logs.follow, "Go on until the job has ended");
    logs.add_option("--rank", all.logs.rank, "Which rank [0]")->check(CLI::NonNegativeNumber);
    logs.add_option("--attempt", all.logs.attempt, "Which attempt [the newest]")
        ->check(CLI::PositiveNumber);

    CLI::App& cancel = verbs.add("cancel", "Stop a job, with a checkpoint first", all.cancel);
    cancel.add_option("ID", all.cancel.id, "The job; a unique beginning is enough")->required();
    cancel.add_flag_callback(
        "--now", [&all] { all.cancel.mode = CancelMode::now; }, "Without a checkpoint");
    add_output(cancel, all.cancel.output, {"name", "json", "yaml"});

    CLI::App& history =
        verbs.add("history", "Every attempt of every job, with its cause of death", all.history);
    history.add_option("--state", all.history.state, "Only jobs in this state");
    history.add_option("--name", all.history.name, "Only jobs of this name");
    history.add_option("--since", all.history.since,
                       "Only jobs submitted since: 30m, 2h, 3d, or a date (UTC)");
    add_output(history, all.history.output, {"table", "wide", "json", "yaml", "name", "csv"});
}

void add_data_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& data = verbs.add_group("data", "Data to train on");
    CLI::App& prepare = verbs.add_below(
        data, "prepare", "Encode text once, to a Megatron data set (.bin, .idx)", all.prepare_data);
    prepare
        .add_option("INPUT", all.prepare_data.inputs, "Directories or files of text or JSON Lines")
        ->required();
    prepare
        .add_option("--tokenizer", all.prepare_data.tokenizer,
                    "bytes, or a tokenizer.json or its directory")
        ->type_name("PATH|bytes")
        ->required();
    prepare.add_option("--output", all.prepare_data.output, "Write PREFIX.bin and PREFIX.idx")
        ->type_name("PREFIX")
        ->required();
    prepare.add_option("--format", all.prepare_data.format, "auto, text or jsonl [auto]")
        ->check(CLI::IsMember({"auto", "text", "jsonl"}));
    prepare.add_option("--jobs", all.prepare_data.num_threads, "Threads [one per core]")
        ->check(CLI::Range(1, 1024));
}

void add_other_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& nodes = verbs.add("nodes", "List nodes", all.nodes);
    add_output(nodes, all.nodes.output, {"table", "wide", "json", "yaml", "name"});

    CLI::App& up = verbs.add("up", "A local cluster: a controller and workers", all.up);
    up.add_option("--workers", all.up.num_workers, "How many [4]")->check(CLI::Range(1, 64));
    up.add_option("--devices-per-worker", all.up.devices_per_worker, "CPU devices of each [1]")
        ->check(CLI::Range(1, 64));
    up.add_option("--job", all.up.job_file, "Run this job file to its end, then stop")
        ->type_name("FILE");
    up.add_option("--state", all.up.state_dir, "Keep everything here; an old one is continued")
        ->type_name("DIR");
    up.add_option("--listen", all.up.listen,
                  "gRPC on this loopback address too (port 0: any), and HTTP on the port after it")
        ->type_name("HOST:PORT");
    up.add_option("--http", all.up.http, "HTTP on this loopback address")->type_name("HOST:PORT");

    CLI::App& backup =
        verbs.add("backup", "Copy the controller's database while it runs", all.backup);
    backup.add_option("FILE", all.backup.file, "The new copy")->required();
    CLI::App& restore = verbs.add(
        "restore", "Put a backup in the place of a stopped controller's database", all.restore);
    restore.add_option("FILE", all.restore.file, "The backup")->required();
    restore.add_option("--state", all.restore.state_dir, "The controller's state directory")
        ->type_name("DIR")
        ->required();

    CLI::App& version = verbs.add("version", "The version of this program", all.version);
    add_output(version, all.version.output, {"table", "json", "yaml"});
}

}  // namespace

std::variant<CommandLine, CommandLineEnd> parse_command_line(int argc, const char* const* argv) {
    CLI::App app("Ringmaster trains long-context language models on ordinary machines.",
                 "ringmaster");
    app.require_subcommand(1);
    app.get_formatter()->column_width(34);
    CommandLine line;
    AllOptions all;
    Verbs verbs(app);
    add_target(app, line.target);
    add_job_verbs(verbs, all);
    add_data_verbs(verbs, all);
    add_other_verbs(verbs, all);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        const int code = app.exit(error, out, err);
        return CommandLineEnd{code == 0 ? ExitCode::ok : ExitCode::usage, out.str(), err.str()};
    }
    line.verb = verbs.chosen();
    return line;
}

}  // namespace rm
