#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/command_line.h"
#include "cli/man/manual.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

const ManPage& page_named(const std::vector<ManPage>& pages, const std::string& name) {
    const auto found = std::find_if(pages.begin(), pages.end(),
                                    [&](const ManPage& page) { return page.name == name; });
    RM_CHECK(found != pages.end(), "there is no page {}", name);
    return *found;
}

bool has_groff() {
    return std::system("command -v groff > /dev/null") == 0;
}

// Renders all pages as a reader sees them; with -z, returns only groff's warnings.
std::string rendered(const std::vector<ManPage>& pages, const std::string& option = "") {
    const TempDir directory;
    std::string files;
    for (const ManPage& page : pages) {
        const std::string file = directory.file(page.name);
        std::ofstream(file) << to_man(page);
        files += " " + file;
    }
    const auto ran =
        test::run_program("groff", "-man -Tascii -P-cbou -ww -rLL=100n " + option + files);
    EXPECT_EQ(ran.code, 0) << ran.output;
    return ran.output;
}

TEST(ManPages, AreThereForEveryVerb) {
    const std::vector<ManPage> all = command_line_pages();
    EXPECT_EQ(all.front().name, "ringmaster");
    for (const char* name : {"ringmaster-submit", "ringmaster-top", "ringmaster-data-prepare",
                             "ringmaster-pki-issue", "ringmaster-man", "ringmaster-completion"}) {
        EXPECT_EQ(page_named(all, name).number, 1);
    }
}

TEST(ManPages, SayWhatTheCommandLineSays) {
    if (!has_groff()) GTEST_SKIP() << "no groff here";
    const std::vector<ManPage> all = command_line_pages();
    const std::string history = rendered({page_named(all, "ringmaster-history")});
    for (const char* words :
         {"RINGMASTER-HISTORY(1)", "ringmaster-history - List every attempt of every job",
          "ringmaster history [options]", "--state pending|starting|running",
          "Only jobs submitted since: 30m, 2h, 3d, or a date (UTC)", "SEE ALSO"}) {
        EXPECT_NE(history.find(words), std::string::npos) << words << '\n' << history;
    }
    const std::string issue = rendered({page_named(all, "ringmaster-data-prepare")});
    EXPECT_NE(issue.find("ringmaster data prepare [options] INPUT... --tokenizer PATH|bytes "
                         "--output PREFIX"),
              std::string::npos)
        << issue;
}

const ManSection* section_of(const ManPage& page, const std::string& title) {
    const auto found = std::find_if(page.sections.begin(), page.sections.end(),
                                    [&](const ManSection& s) { return s.title == title; });
    return found == page.sections.end() ? nullptr : &*found;
}

TEST(ManPages, OfEveryCommandHaveExamplesThatItTakes) {
    for (const ManPage& page : command_line_pages()) {
        const bool is_group = section_of(page, "COMMANDS") != nullptr && page.name != "ringmaster";
        if (page.number != 1 || is_group) continue;
        const ManSection* examples = section_of(page, "EXAMPLES");
        ASSERT_NE(examples, nullptr) << page.name;
        for (const ManEntry& example : examples->entries) {
            std::istringstream stream(example.term);
            const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
            std::vector<const char*> argv;
            for (const std::string& word : words)
                argv.push_back(word.c_str());
            const auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
            const auto* end = std::get_if<CommandLineEnd>(&parsed);
            EXPECT_TRUE(end == nullptr || end->code == ExitCode::ok)
                << example.term << ": " << (end == nullptr ? "" : end->err);
        }
    }
}

TEST(ManPages, HaveADateAndTheExamplesOfHelp) {
    const ManPage page = page_named(command_line_pages(), "ringmaster-ls");
    EXPECT_EQ(to_man(page).find(".TH \"RINGMASTER\\-LS\" 1 \"2026-"), 0u) << to_man(page);
    const char* words[] = {"ringmaster", "ls", "--help"};
    const auto help = std::get<CommandLineEnd>(parse_command_line(3, words));
    EXPECT_NE(help.out.find("Examples:\n  ringmaster ls -a        ended jobs too\n"),
              std::string::npos)
        << help.out;
}

TEST(ManPages, DescribeTheJobFileAsItsDocumentDoes) {
    if (!has_groff()) GTEST_SKIP() << "no groff here";
    const std::string text = rendered({page_named(command_line_pages(), "ringmaster-job")});
    for (const char* words :
         {"RINGMASTER-JOB(5)", "checkpoint.keep",
          "held-out tokens per evaluation, at most; default: 65536", "model: {preset: tiny}",
          "PARALLEL", "instead of a preset: a Hugging Face directory"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << '\n' << text;
    }
    EXPECT_EQ(text.find("**"), std::string::npos) << text;
    EXPECT_EQ(text.find('`'), std::string::npos) << text;
}

TEST(ManPages, GiveGroffNothingToWarnOf) {
    if (!has_groff()) GTEST_SKIP() << "no groff here";
    EXPECT_EQ(rendered(command_line_pages(), "-z"), "");
}

TEST(ManPages, KeepWhatTroffWouldTakeForItsOwn) {
    const ManPage page{.name = "x",
                       .summary = "a \\ b",
                       .synopsis = ".nothing",
                       .version = "1",
                       .sections = {{"T", "", {{"say \"it\"", "'quoted'"}}}},
                       .body = "",
                       .see_also = {}};
    const std::string text = to_man(page);
    EXPECT_NE(text.find("a \\e b"), std::string::npos) << text;
    EXPECT_NE(text.find("\n\\&.nothing\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\n\\&'quoted'\n"), std::string::npos) << text;
    EXPECT_NE(text.find("say \\(dqit\\(dq"), std::string::npos) << text;
}

}  // namespace
}  // namespace rm
