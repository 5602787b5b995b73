#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/command_line.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

std::string script(const char* shell) {
    const char* words[] = {"ringmaster", "completion", shell};
    const auto parsed = parse_command_line(3, words);
    const auto* end = std::get_if<CommandLineEnd>(&parsed);
    RM_CHECK(end != nullptr && end->code == ExitCode::ok, "no script for {}", shell);
    return end->out;
}

// Returns what bash offers for the last of `words`, a blank after each offer. Runs `before` first.
std::string offered(const std::string& words, int num_words, const std::string& before = "") {
    const TempDir directory;
    const std::string file = directory.file("ask");
    std::ofstream(file) << before << '\n'
                        << script("bash")
                        << format(
                               "COMP_WORDS=(ringmaster {}); COMP_CWORD={}; _ringmaster\n"
                               "printf '%s ' \"${{COMPREPLY[@]}}\"\n",
                               words, num_words);
    const auto ran = test::run_program("bash", "--norc " + file);
    EXPECT_EQ(ran.code, 0) << ran.output;
    return ran.output;
}

TEST(Completion, OffersTheVerbsThereAre) {
    EXPECT_EQ(offered("ex", 1), "explain ");
    EXPECT_EQ(offered("to", 1), "top ");
    EXPECT_EQ(offered("--state /x hist", 3), "history ") << "an option's value is no verb";
    EXPECT_EQ(offered("data ''", 2), "prepare ");
}

TEST(Completion, OffersTheOptionsAndValuesOfAVerb) {
    EXPECT_EQ(offered("drain abc --", 3),
              "--help --reason --keep-running --gone --yes --output --address --ca --cert --key "
              "--token-file --server-name --context --state --config ");
    EXPECT_EQ(offered("ls -o ''", 3), "table wide json yaml name ");
    EXPECT_EQ(offered("history --state f", 3), "failed ") << "not the program's --state";
    EXPECT_EQ(offered("history --group-by m", 3), "model ");
    EXPECT_EQ(offered("completion z", 2), "zsh ");
    EXPECT_EQ(offered("logs abc --rank ''", 4), " ") << "any number";
}

TEST(Completion, OffersFilesWhereAPathIsWanted) {
    EXPECT_NE(offered("submit /et", 2).find("/etc "), std::string::npos);
    EXPECT_NE(offered("ls --state /et", 3).find("/etc "), std::string::npos);
}

// Completion once ran `/x {3}` for `--state /x`, and so asked another controller.
TEST(Completion, AsksTheControllerOfTheLineForIds) {
    const TempDir directory;
    directory.write("ringmaster", "#!/bin/sh\necho \"$*\" | tr ' ' '_'\n");
    std::filesystem::permissions(directory.file("ringmaster"), std::filesystem::perms::owner_all);
    const std::string here = format("PATH={}:$PATH", directory.path());
    EXPECT_EQ(offered("show ''", 2, here), "ls_-a_-o_name ");
    EXPECT_EQ(offered("--state /x show ''", 4, here), "--state_/x_ls_-a_-o_name ");
    EXPECT_EQ(offered("drain --context lab ''", 4, here), "--context_lab_nodes_-o_name ");
    EXPECT_EQ(offered("show --address a:7 --ca c.crt -o json ''", 8, here),
              "--address_a:7_--ca_c.crt_ls_-a_-o_name ");
}

TEST(Completion, KnowsThreeShells) {
    EXPECT_EQ(script("zsh").substr(0, 20), "#compdef ringmaster\n");
    for (const char* shell : {"zsh", "fish"}) {
        EXPECT_NE(script(shell).find("keep-running"), std::string::npos) << shell;
        EXPECT_NE(script(shell).find("table wide json yaml name csv"), std::string::npos) << shell;
    }
}

}  // namespace
}  // namespace rm
