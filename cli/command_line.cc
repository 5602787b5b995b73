#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <sstream>

#include "cli/completion.h"
#include "cli/history_groups.h"
#include "cli/man_pages.h"

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
            "How to print")
        ->type_name(list);
}

// An option that takes the names `parse` knows; its help shows `names`.
template <typename T, typename Target>
void add_choice(CLI::App& verb, const std::string& option, Target& target,
                Result<T> (*parse)(const std::string&), const char* names, const char* help) {
    verb.add_option_function<std::string>(
            option,
            [&target, parse, option](const std::string& text) {
                const auto value = parse(text);
                if (!value) throw CLI::ValidationError(option, value.error().message);
                target = *value;
            },
            help)
        ->type_name(names);
}

void add_target(CLI::App& app, TargetFlags& target) {
    app.add_option("--address", target.address,
                   "The controller: host:port (beyond 127.0.0.1 with --ca), or unix:/path "
                   "[RINGMASTER_ADDRESS]")
        ->type_name("ADDRESS");
    app.add_option("--ca", target.security.ca,
                   "Authority in PEM of the controller's certificate; speaks TLS [RINGMASTER_CA]")
        ->type_name("FILE");
    app.add_option("--cert", target.security.certificate,
                   "A client certificate in PEM [RINGMASTER_CERT]")
        ->type_name("FILE");
    app.add_option("--key", target.security.key, "Its key [RINGMASTER_KEY]")->type_name("FILE");
    app.add_option("--token-file", target.security.token_file,
                   "File that holds a token [RINGMASTER_TOKEN_FILE]")
        ->type_name("FILE");
    app.add_option("--server-name", target.security.server_name,
                   "What the controller's certificate names, where it is not the address")
        ->type_name("NAME");
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
    ContinueOptions continue_job;
    LsOptions ls;
    ShowOptions show;
    ExplainOptions explain;
    PlacementOptions placement;
    LogsOptions logs;
    BackupOptions backup;
    RestoreOptions restore;
    CancelOptions cancel;
    HistoryOptions history;
    TopOptions top;
    NodesOptions nodes;
    DrainOptions drain;
    ResumeOptions resume;
    LinksOptions links;
    SurveyNowOptions survey;
    DoctorOptions doctor;
    UpOptions up;
    PrepareDataOptions prepare_data;
    AuditOptions audit;
    PkiInitOptions pki_init;
    PkiIssueOptions pki_issue;
    PkiRevokeOptions pki_revoke;
    PkiTokenOptions pki_token;
    ManOptions man;
    PlaceOptions place;
    VersionOptions version;
};

constexpr const char* kJobHelp = "The job; a unique beginning is enough";

void add_starting_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& submit = verbs.add("submit", "Submit a job file; prints the job's id", all.submit);
    submit.add_option("FILE", all.submit.file, "The job file; - reads stdin")->required();
    submit
        .add_option("--from", all.submit.from,
                    "Begin from this checkpoint, instead of the file's checkpoint.from")
        ->type_name("DIR");
    submit.add_flag("--follow", all.submit.follow, "Show the job to its end; Ctrl-C detaches");
    add_output(submit, all.submit.output, {"name", "json", "yaml"});

    CLI::App& again = verbs.add("continue", "A new job that goes on where an ended one has stopped",
                                all.continue_job);
    again.add_option("ID", all.continue_job.id, kJobHelp)->required();
    again.add_flag("--follow", all.continue_job.follow, "Show the job to its end; Ctrl-C detaches");
    add_output(again, all.continue_job.output, {"name", "json", "yaml"});
}

void add_history_verb(Verbs& verbs, AllOptions& all) {
    CLI::App& history =
        verbs.add("history", "Every attempt of every job, with its cause of death", all.history);
    HistoryOptions& options = all.history;
    history.add_option("--state", options.state, "Only jobs in this state")
        ->type_name("pending|starting|running|stopping|succeeded|failed|cancelled");
    history.add_option("--name", options.name, "Only jobs of this name");
    history.add_option("--model", options.model, "Only jobs of this preset or model directory");
    history.add_option("--user", options.user, "Only jobs of this owner");
    history.add_option("--since", options.since,
                       "Only jobs submitted since: 30m, 2h, 3d, or a date (UTC)");
    add_choice(history, "--sort", options.sort, parse_sort_key,
               "submitted|ended|name|state|model|user|loss|tokens",
               "Newest and highest first, names from a to z [submitted]");
    history.add_flag_callback(
        "--reverse", [&options] { options.order = Order::reversed; }, "The other way round");
    add_choice(history, "--group-by", options.group_by, parse_group_key, "state|model|user|name",
               "A line of sums per group instead");
    add_output(history, options.output, {"table", "wide", "json", "yaml", "name", "csv"});
}

void add_job_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& ls = verbs.add("ls", "List jobs", all.ls);
    ls.add_flag("-a,--all", all.ls.all, "Ended jobs too");
    add_output(ls, all.ls.output, {"table", "wide", "json", "yaml", "name"});

    CLI::App& show = verbs.add("show", "Everything about one job", all.show);
    show.add_option("ID", all.show.id, kJobHelp)->required();
    add_output(show, all.show.output, {"table", "json", "yaml", "name"});

    CLI::App& explain =
        verbs.add("explain", "Why a job waits, what it is doing, or why it has ended", all.explain);
    explain.add_option("ID", all.explain.id, kJobHelp)->required();
    add_output(explain, all.explain.output, {"table", "json", "yaml"});

    CLI::App& placement = verbs.add(
        "placement", "Where a job's ranks are and what their communication costs", all.placement);
    placement.add_option("ID", all.placement.id, kJobHelp)->required();
    placement.add_option("--attempt", all.placement.attempt, "Which attempt [the newest]")
        ->check(CLI::PositiveNumber);
    add_output(placement, all.placement.output, {"table", "json", "yaml"});

    CLI::App& logs = verbs.add("logs", "The log of one rank of a job", all.logs);
    logs.add_option("ID", all.logs.id, kJobHelp)->required();
    logs.add_flag("-f,--follow", all.logs.follow, "Go on until the job has ended");
    logs.add_option("--rank", all.logs.rank, "Which rank [0]")->check(CLI::NonNegativeNumber);
    logs.add_option("--attempt", all.logs.attempt, "Which attempt [the newest]")
        ->check(CLI::PositiveNumber);

    CLI::App& cancel = verbs.add("cancel", "Stop a job, with a checkpoint first", all.cancel);
    cancel.add_option("ID", all.cancel.id, kJobHelp)->required();
    cancel.add_flag_callback(
        "--now", [&all] { all.cancel.mode = CancelMode::now; }, "Without a checkpoint");
    add_output(cancel, all.cancel.output, {"name", "json", "yaml"});
}

void add_top_verb(Verbs& verbs, AllOptions& all) {
    CLI::App& top = verbs.add("top", "Every rank while it trains; q ends it", all.top);
    top.add_option("ID", all.top.id, "Only this job; a unique beginning is enough");
    top.add_flag("--nodes", all.top.nodes, "A line per node instead");
    top.add_flag("--once", all.top.once, "Print once, also on a terminal");
    top.add_option("--interval", all.top.interval, "Seconds between two looks [1]")
        ->type_name("S")
        ->check(CLI::Range(0.2, 3600.0));
    add_output(top, all.top.output, {"table", "wide", "json", "yaml", "name"});
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

void add_directory(CLI::App& verb, std::string& directory) {
    verb.add_option("--dir", directory, "The authority's directory")->type_name("DIR")->required();
}

void add_pki_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& pki = verbs.add_group("pki", "Certificates and tokens, as files (docs/security.md)");
    CLI::App& init = verbs.add_below(pki, "init", "Make an authority", all.pki_init);
    add_directory(init, all.pki_init.directory);
    init.add_option("--name", all.pki_init.name, "Its name [ringmaster]");
    init.add_option("--days", all.pki_init.days, "How long it is valid [3650]")
        ->check(CLI::PositiveNumber);

    CLI::App& issue = verbs.add_below(pki, "issue", "Issue a certificate", all.pki_issue);
    add_directory(issue, all.pki_issue.directory);
    issue.add_option("--role", all.pki_issue.role, "For whom")
        ->check(CLI::IsMember({"viewer", "submitter", "admin", "worker", "server"}))
        ->required();
    issue
        .add_option("--name", all.pki_issue.name,
                    "Who it is; of a worker the node's id, or a beginning of it and *")
        ->required();
    issue.add_option("--san", all.pki_issue.subject_names,
                     "A host name or address that a server answers to; may be given several times");
    issue.add_option("--days", all.pki_issue.days, "How long it is valid [365]")
        ->check(CLI::PositiveNumber);
    issue.add_option("-o,--output", all.pki_issue.output, "Write PREFIX.crt and PREFIX.key")
        ->type_name("PREFIX")
        ->required();

    CLI::App& revoke =
        verbs.add_below(pki, "revoke", "Put a certificate on the deny list", all.pki_revoke);
    add_directory(revoke, all.pki_revoke.directory);
    revoke.add_option("CERTIFICATE", all.pki_revoke.certificate, "Its serial, or its file")
        ->required();

    CLI::App& token =
        verbs.add_below(pki, "token", "Make a token, print it once, keep its hash", all.pki_token);
    add_directory(token, all.pki_token.directory);
    token.add_option("--role", all.pki_token.role, "What it may do")
        ->check(CLI::IsMember({"viewer", "submitter", "admin"}))
        ->required();
    token.add_option("--name", all.pki_token.name, "Whose it is")->required();
    token.add_option("--days", all.pki_token.days, "How long it is valid [until it is removed]")
        ->check(CLI::PositiveNumber);
}

void add_node_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& nodes = verbs.add("nodes", "List nodes", all.nodes);
    add_output(nodes, all.nodes.output, {"table", "wide", "json", "yaml", "name"});

    CLI::App& drain =
        verbs.add("drain", "Empty a node: its jobs go on elsewhere, nothing new comes", all.drain);
    DrainOptions& options = all.drain;
    drain.add_option("NODE", options.node, "The node; a unique beginning is enough")->required();
    drain.add_option("--reason", options.reason, "For those who look at it later");
    CLI::Option* keep = drain.add_flag_callback(
        "--keep-running", [&options] { options.mode = DrainMode::keep_running; },
        "What runs there may end by itself");
    CLI::Option* gone = drain.add_flag_callback(
        "--gone", [&options] { options.mode = DrainMode::gone; },
        "The machine no longer exists: nothing of it is waited for");
    gone->excludes(keep);
    drain.add_flag("-y,--yes", options.yes, "Do not ask");
    add_output(drain, options.output, {"name", "json", "yaml"});

    CLI::App& resume = verbs.add("resume", "Take a drained node back into service", all.resume);
    resume.add_option("NODE", all.resume.node, "The node; a unique beginning is enough")
        ->required();
    add_output(resume, all.resume.output, {"name", "json", "yaml"});
}

void add_place_verb(Verbs& verbs, AllOptions& all) {
    PlaceOptions& options = all.place;
    CLI::App& place = verbs.add(
        "place", "Which device for which rank, by measured links; talks to no controller", options);
    place.add_option("--links", options.links, "The link file (docs/formats/links.md)")
        ->type_name("FILE")
        ->required();
    CLI::Option* mesh = place.add_option("--mesh", options.mesh,
                                         "data=2,ring=4,ulysses=1,tensor=2; inner=N cuts the ring");
    place.add_option("--bytes", options.bytes,
                     "What a rank sends in a step: ring=64MiB,tensor=...; :N after it, in N "
                     "messages; instead of --model");
    place.add_option("--model", options.model, "A preset; bytes by docs/communication.md");
    place.add_option("--context", options.context, "Tokens of a sequence, with --model")
        ->needs("--model");
    place.add_option("--batch", options.batch, "Tokens of a step [a sequence per data rank]")
        ->needs("--model");
    place.add_option("--zero", options.zero, "ZeRO stage, with --model [0]")
        ->check(CLI::Range(0, 3))
        ->needs("--model");
    place.add_option("--precision", options.precision, "Of compute, with --model [bf16]")
        ->check(CLI::IsMember({"bf16", "fp32"}))
        ->needs("--model");
    place.add_option("--forbid", options.forbidden, "Never use a node, or a device of one")
        ->type_name("NODE[:DEVICE]");
    place.add_option("--prefer", options.preferred, "Use these first where it costs no time")
        ->type_name("NODE[:DEVICE]");
    place.add_option("--seed", options.seed, "Of the search [1]");
    place.add_option("--budget", options.budget, "Evaluations of the search [by size]")
        ->check(CLI::PositiveNumber);
    place.add_flag("--slurm", options.slurm, "Print Slurm's topology.conf of the links instead")
        ->excludes(mesh);
    add_output(place, options.output, {"table", "json", "yaml"});
}

void add_link_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& links =
        verbs.add("links", "The measured links: a map, or the history of one", all.links);
    CLI::Option* from = links.add_option("FROM", all.links.from,
                                         "With TO: every measurement of this link, newest first");
    CLI::Option* to = links.add_option("TO", all.links.to, "The other end");
    from->needs(to);
    links.add_flag("--matrix", all.links.matrix, "Rates instead of shades");
    links.add_option("--limit", all.links.limit, "Of the history [100]")
        ->check(CLI::PositiveNumber);
    add_output(links, all.links.output, {"table", "json", "yaml"});

    CLI::App& survey = verbs.add("survey", "Measure every link anew", all.survey);
    survey.add_flag("--wait", all.survey.wait, "Until it has ended");
    add_output(survey, all.survey.output, {"name", "json", "yaml"});
}

void add_other_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& doctor =
        verbs.add("doctor", "Check this machine and its way to the controller", all.doctor);
    add_output(doctor, all.doctor.output, {"table", "json", "yaml"});

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

    CLI::App& audit = verbs.add("audit", "Who did what, and who was refused", all.audit);
    audit.add_flag("--refused", all.audit.refused, "Only what was not allowed");
    audit.add_option("--since", all.audit.since, "Only since: 30m, 2h, 3d, or a date (UTC)");
    add_output(audit, all.audit.output, {"table", "wide", "json", "yaml"});

    CLI::App& backup =
        verbs.add("backup", "Copy the controller's database while it runs", all.backup);
    backup.add_option("FILE", all.backup.file, "The new copy")->required();
    CLI::App& restore = verbs.add(
        "restore", "Put a backup in the place of a stopped controller's database", all.restore);
    restore.add_option("FILE", all.restore.file, "The backup")->required();
    restore.add_option("--state", all.restore.state_dir, "The controller's state directory")
        ->type_name("DIR")
        ->required();

    CLI::App& man = verbs.add("man", "The pages of the manual", all.man);
    man.add_option("DIR", all.man.directory,
                   "Write all of them there; without, ringmaster(1) goes to stdout");

    CLI::App& version = verbs.add("version", "The version of this program", all.version);
    add_output(version, all.version.output, {"table", "json", "yaml"});
}

Result<Shell> parse_shell(const std::string& name) {
    if (name == "bash") return Shell::bash;
    if (name == "zsh") return Shell::zsh;
    if (name == "fish") return Shell::fish;
    return invalid_argument("'{}' is none of bash, zsh, fish", name);
}

// A verb that needs no controller: what it prints is here.
void add_completion(CLI::App& app, std::optional<Shell>& shell) {
    CLI::App& verb = *app.add_subcommand("completion", "What a shell needs to complete all this");
    add_choice(verb, "SHELL", shell, parse_shell, "bash|zsh|fish",
               "source <(ringmaster completion bash)");
    verb.get_option("SHELL")->required();
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
    std::optional<Shell> shell;
    add_target(app, line.target);
    add_starting_verbs(verbs, all);
    add_job_verbs(verbs, all);
    add_history_verb(verbs, all);
    add_top_verb(verbs, all);
    add_node_verbs(verbs, all);
    add_link_verbs(verbs, all);
    add_data_verbs(verbs, all);
    add_pki_verbs(verbs, all);
    add_place_verb(verbs, all);
    add_other_verbs(verbs, all);
    add_completion(app, shell);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        const int code = app.exit(error, out, err);
        return CommandLineEnd{code == 0 ? ExitCode::ok : ExitCode::usage, out.str(), err.str()};
    }
    if (shell) return CommandLineEnd{ExitCode::ok, completion_script(app, *shell), ""};
    line.verb = verbs.chosen();
    if (auto* man = std::get_if<ManOptions>(&line.verb)) man->pages = man_pages(app, RM_VERSION);
    return line;
}

}  // namespace rm
