#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <variant>
#include <vector>

#include "base/text.h"
#include "cli/command_line.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using Words = std::vector<std::string>;

std::variant<CommandLine, CommandLineEnd> parsed(const Words& words) {
    std::vector<const char*> argv = {"ringmaster"};
    for (const std::string& word : words)
        argv.push_back(word.c_str());
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

std::string output(const Words& words) {
    const auto line = parsed(words);
    const auto* end = std::get_if<CommandLineEnd>(&line);
    RM_CHECK(end != nullptr && end->code == ExitCode::ok, "no output of {}", join(words, " "));
    return end->out;
}

std::variant<CommandLine, CommandLineEnd> completed(Words words) {
    words.insert(words.begin(), "__complete");
    return parsed(words);
}

// Returns what bash offers for the last of `words`, a blank after each offer, if the script
// `ringmaster` answers.
std::string offered_by(const std::string& ringmaster, const Words& words) {
    const TempDir directory;
    directory.write("ringmaster", "#!/bin/sh\n" + ringmaster);
    std::filesystem::permissions(directory.file("ringmaster"), std::filesystem::perms::owner_all);
    const std::string file = directory.file("ask");
    std::ofstream(file) << format("PATH={}:$PATH\n", directory.path())
                        << output({"completion", "bash"})
                        << format(
                               "COMP_WORDS=(ringmaster '{}'); COMP_CWORD={}; _ringmaster\n"
                               "printf '%s ' \"${{COMPREPLY[@]}}\"\n",
                               join(words, "' '"), words.size());
    const auto ran = test::run_program("bash", "--norc " + file);
    EXPECT_EQ(ran.code, 0) << ran.output;
    return ran.output;
}

// The same with the answer of the real command line.
std::string offered(const Words& words) {
    const TempDir directory;
    directory.write("answer", std::get<CommandLineEnd>(completed(words)).out);
    return offered_by(format("cat {}\n", directory.file("answer")), words);
}

TEST(Completion, OffersTheVerbsThereAre) {
    EXPECT_EQ(offered({"exp"}), "explain export export-curves ");
    EXPECT_EQ(offered({"top"}), "top ");
    EXPECT_EQ(offered({"--state", "/x", "hist"}), "history ") << "an option's value is no verb";
    EXPECT_EQ(offered({"data", ""}), "prepare show needles ");
}

TEST(Completion, OffersTheOptionsAndValuesOfAVerb) {
    EXPECT_EQ(offered({"drain", "abc", "--"}),
              "--help --reason --keep-running --gone --yes --output --address --ca --cert --key "
              "--token-file --server-name --context --state --config ");
    EXPECT_EQ(offered({"ls", "-o", ""}), "table wide json yaml name ");
    EXPECT_EQ(offered({"history", "--state", "f"}), "failed ") << "not the program's --state";
    EXPECT_EQ(offered({"history", "--group-by", "m"}), "model ");
    EXPECT_EQ(offered({"completion", "z"}), "zsh ");
    EXPECT_EQ(offered({"logs", "abc", "--rank", ""}), " ") << "any number";
}

TEST(Completion, OffersFilesWhereAPathIsWanted) {
    EXPECT_NE(offered({"submit", "/et"}).find("/etc "), std::string::npos);
    EXPECT_NE(offered({"ls", "--state", "/et"}).find("/etc "), std::string::npos);
}

TEST(Completion, PassesTheWordsOfTheLineToTheProgram) {
    const std::string arguments = "echo \"$*\" | tr ' ' '_'\n";
    EXPECT_EQ(offered_by(arguments, {"show", "-o", ""}), "__complete_show_-o_ ");
    EXPECT_EQ(offered_by(arguments + "echo show", {"s"}), "show ")
        << "only what begins as the word does";
    EXPECT_EQ(offered_by("printf 'show\\tShow a job\\nls\\tList jobs\\n'", {"s"}), "show ")
        << "without the help";
}

// Completion once ran `/x {3}` for `--state /x`, and so asked another controller.
TEST(Completion, AsksTheControllerOfTheLineForIds) {
    const auto is_ls = [](const CommandLine& line) {
        return line.command->options().list().front().names == "-a,--all";
    };
    const auto show = completed({"show", ""});
    EXPECT_TRUE(is_ls(std::get<CommandLine>(show)));
    EXPECT_EQ(std::get<CommandLine>(show).target.state_dir, "");
    const auto of_state = completed({"--state", "/x", "show", ""});
    EXPECT_TRUE(is_ls(std::get<CommandLine>(of_state)));
    EXPECT_EQ(std::get<CommandLine>(of_state).target.state_dir, "/x");
    const auto drain = completed({"drain", "--context", "lab", ""});
    EXPECT_FALSE(is_ls(std::get<CommandLine>(drain)));
    EXPECT_EQ(std::get<CommandLine>(drain).target.context, "lab");
    const auto of_address =
        completed({"show", "--address", "a:7", "--ca", "c.crt", "-o", "json", ""});
    EXPECT_TRUE(is_ls(std::get<CommandLine>(of_address)));
    EXPECT_EQ(std::get<CommandLine>(of_address).target.address, "a:7");
    EXPECT_EQ(std::get<CommandLine>(of_address).target.security.ca, "c.crt");
}

TEST(Completion, KnowsThreeShells) {
    EXPECT_EQ(output({"completion", "zsh"}).substr(0, 20), "#compdef ringmaster\n");
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const std::string script = output({"completion", shell});
        EXPECT_NE(script.find("ringmaster __complete "), std::string::npos) << shell;
    }
    EXPECT_NE(output({"__complete", "drain", "-"}).find("--keep-running\tLet"), std::string::npos);
}

}  // namespace
}  // namespace rm
