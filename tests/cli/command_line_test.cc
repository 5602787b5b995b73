#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/verb.h"
#include "tests/cli/value_of.h"

namespace rm {
namespace {

using test::flag_of;
using test::text_of;
using test::Texts;
using test::value_of;

std::variant<CommandLine, CommandLineEnd> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "ringmaster");
    return parse_command_line(static_cast<int>(words.size()), words.data());
}

CommandLine good(std::vector<const char*> words) {
    auto parsed = parse(std::move(words));
    const auto* end = std::get_if<CommandLineEnd>(&parsed);
    RM_CHECK(end == nullptr, "{}", end->err);
    return std::get<CommandLine>(std::move(parsed));
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
    const CommandLine submit = good({"submit", "job.yaml", "--follow"});
    EXPECT_EQ(text_of(submit, "FILE"), "job.yaml");
    EXPECT_TRUE(flag_of(submit, "--follow"));
    const CommandLine logs = good({"logs", "-f", "a1", "--rank", "2", "--attempt", "7"});
    EXPECT_TRUE(flag_of(logs, "--follow"));
    EXPECT_EQ(value_of<int>(logs, "--rank"), 2);
    EXPECT_EQ(value_of<std::int64_t>(logs, "--attempt"), 7);
    const CommandLine cancel = good({"cancel", "a1", "--now"});
    EXPECT_TRUE(flag_of(cancel, "--now"));
    EXPECT_EQ(value_of<Texts>(good({"cancel", "a1", "b2"}), "ID"), (Texts{"a1", "b2"}));
    const CommandLine up =
        good({"up", "--workers", "2", "--job", "j.yaml", "--listen", "127.0.0.1:0"});
    EXPECT_EQ(value_of<int>(up, "--workers"), 2);
    EXPECT_EQ(text_of(up, "--job"), "j.yaml");
    EXPECT_EQ(text_of(up, "--listen"), "127.0.0.1:0");
}

TEST(CommandLine, TakesCredentialsAsFilesForEveryVerb) {
    const CommandLine line = good({"ls", "--ca", "/ca", "--cert", "/c", "--key", "/k",
                                   "--token-file", "/t", "--server-name", "n"});
    EXPECT_EQ(line.target.security, (ClientSecurity{"/ca", "/c", "/k", "/t", "n"}));
}

TEST(CommandLine, GivesPkiItsFourVerbs) {
    const CommandLine issue = good({"pki", "issue", "--dir", "d", "--role", "server", "--name", "c",
                                    "--san", "a", "--san", "10.0.0.1", "-o", "x"});
    EXPECT_EQ(value_of<Texts>(issue, "--san"), (Texts{"a", "10.0.0.1"}));
    EXPECT_EQ(value_of<int>(issue, "--days"), 365);
    const CommandLine token =
        good({"pki", "token", "--dir", "d", "--role", "viewer", "--name", "a"});
    EXPECT_EQ(value_of<int>(token, "--days"), 0);
    bad({"pki", "token", "--dir", "d", "--role", "worker", "--name", "a"});
    bad({"pki", "issue", "--dir", "d", "--role", "king", "--name", "a", "-o", "x"});
    bad({"pki"});
}

TEST(CommandLine, GivesVerbsOfNodesAndFailuresTheirOptions) {
    const CommandLine drain = good({"drain", "n1", "--reason", "a disk", "--keep-running"});
    EXPECT_EQ(value_of<Texts>(drain, "NODE"), (Texts{"n1"}));
    EXPECT_EQ(text_of(drain, "--reason"), "a disk");
    EXPECT_TRUE(flag_of(drain, "--keep-running"));
    EXPECT_TRUE(flag_of(good({"drain", "n1", "--gone", "-y"}), "--gone"));
    EXPECT_EQ(bad({"drain", "n1", "--gone", "--keep-running"}).code, ExitCode::usage);
    EXPECT_EQ(text_of(good({"submit", "j", "--from", "c"}), "--from"), "c");
    EXPECT_TRUE(flag_of(good({"continue", "a1", "--follow"}), "--follow"));
    const CommandLine history =
        good({"history", "--sort", "loss", "--reverse", "--group-by", "user"});
    EXPECT_EQ(text_of(history, "--sort"), "loss");
    EXPECT_TRUE(flag_of(history, "--reverse"));
    EXPECT_EQ(text_of(history, "--group-by"), "user");
    EXPECT_EQ(bad({"history", "--sort", "colour"}).err.substr(0, 45),
              "ringmaster: --sort: 'colour' is none of submi");
}

// Two options of a command that share a value would leave one of them without its own.
void expect_own_values(const Verb& verb) {
    for (const Verb& below : verb.below)
        expect_own_values(below);
    if (!verb.make) return;
    const auto command = verb.make();
    std::set<const void*> seen;
    for (const VerbOption& option : command->options().list()) {
        const void* value = std::visit([](auto* it) -> const void* { return it; }, option.value);
        EXPECT_TRUE(seen.insert(value).second) << verb.name << ' ' << option.names;
    }
}

TEST(CommandLine, GivesEachOptionAValueOfItsOwn) {
    for (const VerbGroup& group : verb_table()) {
        for (const Verb& verb : group.verbs)
            expect_own_values(verb);
    }
}

TEST(CommandLine, KeepsTheTwoMeaningsOfStateApart) {
    const CommandLine line = good({"--state", "/s", "history", "--state", "failed"});
    EXPECT_EQ(line.target.state_dir, "/s");
    EXPECT_EQ(text_of(line, "--state"), "failed");
}

TEST(CommandLine, ListsTheFormatsAVerbHas) {
    EXPECT_EQ(value_of<OutputFormat>(good({"ls", "-o", "json"}), "--output"), OutputFormat::json);
    EXPECT_EQ(value_of<OutputFormat>(good({"history", "-o", "csv"}), "--output"),
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
    const CommandLine submit =
        good({"submit", "--set", "seed=2", "j.yaml", "--set", "name=x", "--name", "y"});
    EXPECT_EQ(text_of(submit, "FILE"), "j.yaml");
    EXPECT_EQ(value_of<Texts>(submit, "--set"), (Texts{"seed=2", "name=x"}));
    EXPECT_EQ(text_of(submit, "--name"), "y");
    EXPECT_EQ(text_of(good({"follow", "a1"}), "ID"), "a1");
    const CommandLine wait = good({"wait", "a1", "b2", "--timeout", "5m"});
    EXPECT_EQ(value_of<Texts>(wait, "ID").size(), 2u);
    EXPECT_EQ(text_of(wait, "--timeout"), "5m");
    const CommandLine logs =
        good({"logs", "a1", "--all-ranks", "--tail", "9", "--since", "2h", "--timestamps"});
    EXPECT_TRUE(flag_of(logs, "--all-ranks") && flag_of(logs, "--timestamps"));
    EXPECT_EQ(value_of<std::int64_t>(logs, "--tail"), 9);
    EXPECT_EQ(text_of(logs, "--since"), "2h");
}

// `list`, `help` and `--version` were once answered with "A subcommand is required".
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
         {"submit", "continue", "ls",    "show",   "explain", "logs",      "cancel", "history",
          "top",    "nodes",    "drain", "resume", "links",   "survey",    "place",  "placement",
          "doctor", "up",       "web",   "man",    "version", "completion"}) {
        EXPECT_NE(end.out.find(verb), std::string::npos) << verb;
    }
}

}  // namespace
}  // namespace rm
