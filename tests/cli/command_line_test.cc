#include "cli/command_line.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

std::variant<CommandLine, CommandLineEnd> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "ringmaster");
    return parse_command_line(static_cast<int>(words.size()), words.data());
}

CommandLine good(std::vector<const char*> words) {
    auto parsed = parse(std::move(words));
    const auto* end = std::get_if<CommandLineEnd>(&parsed);
    RM_CHECK(end == nullptr, "{}", end->err);
    return std::get<CommandLine>(parsed);
}

CommandLineEnd bad(std::vector<const char*> words) {
    const auto parsed = parse(std::move(words));
    RM_CHECK(std::holds_alternative<CommandLineEnd>(parsed), "it was taken");
    return std::get<CommandLineEnd>(parsed);
}

TEST(CommandLine, TakesOptionsOfTheProgramBeforeAndBehindTheVerb) {
    EXPECT_EQ(good({"--address", "unix:/a", "ls"}).target.address, "unix:/a");
    EXPECT_EQ(good({"ls", "--address", "unix:/a"}).target.address, "unix:/a");
    EXPECT_EQ(good({"--state", "/s", "history"}).target.state_dir, "/s");
}

TEST(CommandLine, GivesEachVerbItsOptions) {
    const auto submit = std::get<SubmitOptions>(good({"submit", "job.yaml", "--follow"}).verb);
    EXPECT_EQ(submit.file, "job.yaml");
    EXPECT_TRUE(submit.follow);
    const auto logs =
        std::get<LogsOptions>(good({"logs", "-f", "a1", "--rank", "2", "--attempt", "7"}).verb);
    EXPECT_TRUE(logs.follow);
    EXPECT_EQ(logs.rank, 2);
    EXPECT_EQ(logs.attempt, 7);
    const auto cancel = std::get<CancelOptions>(good({"cancel", "a1", "--now"}).verb);
    EXPECT_EQ(cancel.mode, CancelMode::now);
    EXPECT_EQ(std::get<CancelOptions>(good({"cancel", "a1", "b2"}).verb).ids,
              (std::vector<std::string>{"a1", "b2"}));
    const auto up = std::get<UpOptions>(
        good({"up", "--workers", "2", "--job", "j.yaml", "--listen", "127.0.0.1:0"}).verb);
    EXPECT_EQ(up.num_workers, 2);
    EXPECT_EQ(up.job_file, "j.yaml");
    EXPECT_EQ(up.listen, "127.0.0.1:0");
}

TEST(CommandLine, TakesCredentialsAsFilesForEveryVerb) {
    const CommandLine line = good({"ls", "--ca", "/ca", "--cert", "/c", "--key", "/k",
                                   "--token-file", "/t", "--server-name", "n"});
    EXPECT_EQ(line.target.security, (ClientSecurity{"/ca", "/c", "/k", "/t", "n"}));
}

TEST(CommandLine, GivesPkiItsFourVerbs) {
    const auto issue =
        std::get<PkiIssueOptions>(good({"pki", "issue", "--dir", "d", "--role", "server", "--name",
                                        "c", "--san", "a", "--san", "10.0.0.1", "-o", "x"})
                                      .verb);
    EXPECT_EQ(issue.subject_names, (std::vector<std::string>{"a", "10.0.0.1"}));
    EXPECT_EQ(issue.days, 365);
    const auto token = std::get<PkiTokenOptions>(
        good({"pki", "token", "--dir", "d", "--role", "viewer", "--name", "a"}).verb);
    EXPECT_EQ(token.days, 0);
    bad({"pki", "token", "--dir", "d", "--role", "worker", "--name", "a"});
    bad({"pki", "issue", "--dir", "d", "--role", "king", "--name", "a", "-o", "x"});
    bad({"pki"});
}

TEST(CommandLine, GivesVerbsOfNodesAndFailuresTheirOptions) {
    const auto drain =
        std::get<DrainOptions>(good({"drain", "n1", "--reason", "a disk", "--keep-running"}).verb);
    EXPECT_EQ(drain.nodes, (std::vector<std::string>{"n1"}));
    EXPECT_EQ(drain.reason, "a disk");
    EXPECT_EQ(drain.mode, DrainMode::keep_running);
    EXPECT_EQ(std::get<DrainOptions>(good({"drain", "n1", "--gone", "-y"}).verb).mode,
              DrainMode::gone);
    EXPECT_EQ(bad({"drain", "n1", "--gone", "--keep-running"}).code, ExitCode::usage);
    EXPECT_EQ(std::get<SubmitOptions>(good({"submit", "j", "--from", "c"}).verb).from, "c");
    EXPECT_TRUE(std::get<ContinueOptions>(good({"continue", "a1", "--follow"}).verb).follow);
    const auto history = std::get<HistoryOptions>(
        good({"history", "--sort", "loss", "--reverse", "--group-by", "user"}).verb);
    EXPECT_EQ(history.sort, HistoryKey::loss);
    EXPECT_EQ(history.order, Order::reversed);
    EXPECT_EQ(history.group_by, HistoryKey::user);
    EXPECT_EQ(bad({"history", "--sort", "colour"}).err.substr(0, 45),
              "ringmaster: --sort: 'colour' is none of submi");
}

TEST(CommandLine, KeepsTheTwoMeaningsOfStateApart) {
    const CommandLine line = good({"--state", "/s", "history", "--state", "failed"});
    EXPECT_EQ(line.target.state_dir, "/s");
    EXPECT_EQ(std::get<HistoryOptions>(line.verb).state, "failed");
}

TEST(CommandLine, ListsTheFormatsAVerbHas) {
    EXPECT_EQ(std::get<LsOptions>(good({"ls", "-o", "json"}).verb).output, OutputFormat::json);
    EXPECT_EQ(std::get<HistoryOptions>(good({"history", "-o", "csv"}).verb).output,
              OutputFormat::csv);
    const CommandLineEnd end = bad({"ls", "-o", "csv"});
    EXPECT_EQ(end.code, ExitCode::usage);
    EXPECT_NE(end.err.find("has no 'csv'; it prints table|wide|json|yaml|name"), std::string::npos)
        << end.err;
}

TEST(CommandLine, IsAUsageErrorWhenItMakesNoSense) {
    EXPECT_EQ(bad({}).code, ExitCode::usage);
    EXPECT_EQ(bad({"frobnicate"}).code, ExitCode::usage);
    EXPECT_EQ(bad({"submit"}).code, ExitCode::usage);
    EXPECT_EQ(bad({"up", "--workers", "0"}).code, ExitCode::usage);
    EXPECT_EQ(bad({"logs", "a1", "--rank", "x"}).code, ExitCode::usage);
}

TEST(CommandLine, GivesJobsTheirNewVerbsAndOptions) {
    const auto submit = std::get<SubmitOptions>(
        good({"submit", "--set", "seed=2", "j.yaml", "--set", "name=x", "--name", "y"}).verb);
    EXPECT_EQ(submit.file, "j.yaml");
    EXPECT_EQ(submit.set, (std::vector<std::string>{"seed=2", "name=x"}));
    EXPECT_EQ(submit.name, "y");
    EXPECT_EQ(std::get<FollowOptions>(good({"follow", "a1"}).verb).id, "a1");
    const auto wait = std::get<WaitOptions>(good({"wait", "a1", "b2", "--timeout", "5m"}).verb);
    EXPECT_EQ(wait.ids.size(), 2u);
    EXPECT_EQ(wait.timeout, "5m");
    const auto logs = std::get<LogsOptions>(
        good({"logs", "a1", "--all-ranks", "--tail", "9", "--since", "2h", "--timestamps"}).verb);
    EXPECT_TRUE(logs.all_ranks && logs.timestamps);
    EXPECT_EQ(logs.tail, 9);
    EXPECT_EQ(logs.since, "2h");
}

// "A subcommand is required" was the answer to `list`, `help` and `--version` (findings: use.md 4).
TEST(CommandLine, NamesTheLikelyCommandOptionOrSynonym) {
    EXPECT_EQ(bad({"sumbit", "j"}).err,
              "ringmaster: 'sumbit' is not a command; did you mean `ringmaster submit`?\n"
              "Run `ringmaster --help` for the list of commands.\n");
    EXPECT_NE(bad({"get", "jobs"}).err.find("use `ringmaster ls`"), std::string::npos);
    EXPECT_NE(bad({"submit", "j", "--folow"}).err.find("did you mean --follow?"),
              std::string::npos);
    EXPECT_NE(bad({"logs", "a", "--rank", "-1"}).err.find("'-1' is not a whole number of 0 or"),
              std::string::npos);
    EXPECT_EQ(bad({"show"}).err.substr(0, 55),
              "ringmaster: ID is missing; usage: ringmaster show ID\nRu");
    EXPECT_EQ(bad({"--version"}).code, ExitCode::ok);
    EXPECT_EQ(bad({"help", "submit"}).code, ExitCode::ok);
    EXPECT_NE(bad({"help", "submit"}).out.find("--set"), std::string::npos);
    EXPECT_NE(bad({"help", "sumbit"}).err.find("`ringmaster submit`"), std::string::npos);
}

TEST(CommandLine, PrintsHelpOnStdout) {
    const CommandLineEnd end = bad({"--help"});
    EXPECT_EQ(end.code, ExitCode::ok);
    for (const char* verb :
         {"submit",  "continue",  "ls",     "show",  "explain", "logs",    "cancel",
          "history", "top",       "nodes",  "drain", "resume",  "links",   "survey",
          "place",   "placement", "doctor", "up",    "man",     "version", "completion"}) {
        EXPECT_NE(end.out.find(verb), std::string::npos) << verb;
    }
}

}  // namespace
}  // namespace rm
