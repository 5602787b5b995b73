#include "cli/command_table.h"
#include "cli/history_groups.h"
#include "options/checks.h"

namespace rm {
namespace {

constexpr const char* kJobHelp = "Job id, a unique prefix of it, or a job's name";
constexpr const char* kJobsHelp = "Job ids, unique prefixes of them, or names";
constexpr const char* kFollowHelp = "Show the job until it ends; Ctrl-C detaches";

void add_starting_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& submit = verbs.add("submit", "Submit a job file; prints the job's id", all.submit);
    submit.add_option("FILE", all.submit.file, "The job file; - reads stdin")->required();
    submit
        .add_option("--set", all.submit.set,
                    "Set a value of the job file, such as stages.0.learning_rate=1e-3; may be "
                    "given several times")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    submit.add_option("--name", all.submit.name, "Name the job; instead of the file's name")
        ->type_name("NAME");
    submit
        .add_option(
            "--from", all.submit.from,
            "Start from this checkpoint, or the newest of this directory, instead of the file's "
            "checkpoint.from")
        ->type_name("DIR");
    submit.add_flag("--follow", all.submit.follow, kFollowHelp);
    add_output(submit, all.submit.output, {"name", "json", "yaml"});

    CLI::App& again = verbs.add(
        "continue", "Resume an ended job from its last checkpoint, as a new job", all.continue_job);
    again.add_option("ID", all.continue_job.id, kJobHelp)->required()->check(not_empty());
    again.add_flag("--follow", all.continue_job.follow, kFollowHelp);
    add_output(again, all.continue_job.output, {"name", "json", "yaml"});

    CLI::App& follow = verbs.add(
        "follow", "Show a job until it ends, and exit as it did; Ctrl-C detaches", all.follow);
    follow.add_option("ID", all.follow.id, kJobHelp)->required()->check(not_empty());

    CLI::App& wait =
        verbs.add("wait", "Wait until jobs have ended; exit code 5 if one failed", all.wait);
    wait.add_option("ID", all.wait.ids, kJobsHelp)->required()->check(not_empty());
    wait.add_option("--timeout", all.wait.timeout,
                    "Give up after this long, such as 30m (exit code 6)")
        ->type_name("SPAN");
    add_output(wait, all.wait.output, {"table", "json", "yaml"});
}

void add_history_verb(Verbs& verbs, AllOptions& all) {
    CLI::App& history =
        verbs.add("history", "List every attempt of every job and why it ended", all.history);
    HistoryOptions& options = all.history;
    history.add_option("--state", options.state, "Only jobs in this state")
        ->type_name("pending|starting|running|stopping|succeeded|failed|cancelled");
    history.add_option("--name", options.name, "Only jobs of this name")->type_name("NAME");
    history.add_option("--model", options.model, "Only jobs of this preset or model directory")
        ->type_name("MODEL");
    history.add_option("--user", options.user, "Only jobs of this owner")->type_name("USER");
    history
        .add_option("--since", options.since,
                    "Only jobs submitted since: 30m, 2h, 3d, or a date (UTC)")
        ->type_name("TIME");
    add_choice(history, "--sort", options.sort, parse_sort_key,
               "submitted|ended|name|state|model|user|loss|tokens",
               "Newest and highest first, names from a to z [submitted]");
    history.add_flag_callback(
        "--reverse", [&options] { options.order = Order::reversed; }, "Reverse the order");
    add_choice(history, "--group-by", options.group_by, parse_group_key, "state|model|user|name",
               "Print one line of sums per group instead");
    add_output(history, options.output, {"table", "wide", "json", "yaml", "name", "csv"});
}

void add_logs_verb(Verbs& verbs, AllOptions& all) {
    LogsOptions& options = all.logs;
    CLI::App& logs = verbs.add("logs", "Print the log of one rank of a job, or of all", options);
    logs.add_option("ID", options.id, kJobHelp)->required()->check(not_empty());
    logs.add_flag("-f,--follow", options.follow, "Follow until the job ends");
    CLI::Option* rank = logs.add_option("--rank", options.rank, "Which rank [0]")
                            ->type_name("N")
                            ->check(whole_number(0));
    logs.add_flag("--all-ranks", options.all_ranks, "Every rank, each line with its rank")
        ->excludes(rank);
    logs.add_option("--attempt", options.attempt, "Which attempt [the newest]")
        ->type_name("N")
        ->check(whole_number(1));
    logs.add_option("--tail", options.tail, "Only the last N lines")
        ->type_name("N")
        ->check(whole_number(1));
    logs.add_option("--since", options.since,
                    "Only what was printed since: 30m, 2h, 3d, or a date (UTC)")
        ->type_name("TIME");
    logs.add_flag("--timestamps", options.timestamps,
                  "Begin each line with the time at which it reached the controller (UTC)");
    add_output(logs, options.output, {"table", "json"});
}

void add_job_verbs(Verbs& verbs, AllOptions& all) {
    CLI::App& ls = verbs.add("ls", "List jobs", all.ls);
    ls.add_flag("-a,--all", all.ls.all, "Ended jobs too");
    add_output(ls, all.ls.output, {"table", "wide", "json", "yaml", "name"});

    CLI::App& show = verbs.add("show", "Show everything about jobs", all.show);
    show.add_option("ID", all.show.ids, kJobsHelp)->required()->check(not_empty());
    add_output(show, all.show.output, {"table", "json", "yaml", "name"});

    CLI::App& explain = verbs.add(
        "explain", "Explain why a job waits, what it is doing, or why it ended", all.explain);
    explain.add_option("ID", all.explain.id, kJobHelp)->required()->check(not_empty());
    add_output(explain, all.explain.output, {"table", "json", "yaml"});

    CLI::App& placement =
        verbs.add("placement", "Show where a job's ranks are and what their communication costs",
                  all.placement);
    placement.add_option("ID", all.placement.id, kJobHelp)->required()->check(not_empty());
    placement.add_option("--attempt", all.placement.attempt, "Which attempt [the newest]")
        ->type_name("N")
        ->check(whole_number(1));
    add_output(placement, all.placement.output, {"table", "json", "yaml"});

    add_logs_verb(verbs, all);

    CLI::App& cancel = verbs.add("cancel", "Stop jobs, with a checkpoint first", all.cancel);
    cancel.add_option("ID", all.cancel.ids, kJobsHelp)->required()->check(not_empty());
    cancel.add_flag_callback(
        "--now", [&all] { all.cancel.mode = CancelMode::now; }, "Without a checkpoint");
    add_output(cancel, all.cancel.output, {"name", "json", "yaml"});
}

void add_top_verb(Verbs& verbs, AllOptions& all) {
    CLI::App& top = verbs.add("top", "Show every rank live (q quits)", all.top);
    top.add_option("ID", all.top.id, "Only this job: its id, a unique prefix of it, or its name");
    top.add_flag("--nodes", all.top.nodes, "One line per node");
    top.add_flag("--once", all.top.once, "Print once, also on a terminal");
    top.add_option("--interval", all.top.interval, "Refresh interval in seconds [1]")
        ->type_name("S")
        ->check(number(0.2, 3600));
    add_output(top, all.top.output, {"table", "wide", "json", "yaml", "name"});
}

}  // namespace

void add_job_commands(Verbs& verbs, AllOptions& all) {
    verbs.begin_group("Jobs");
    add_starting_verbs(verbs, all);
    add_job_verbs(verbs, all);
    add_history_verb(verbs, all);
    add_top_verb(verbs, all);
}

}  // namespace rm
