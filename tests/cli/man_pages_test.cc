#include "cli/man_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "cli/command_line.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

std::vector<ManPage> pages() {
    const char* words[] = {"ringmaster", "man"};
    const auto parsed = parse_command_line(2, words);
    return std::get<ManOptions>(std::get<CommandLine>(parsed).verb).pages;
}

const ManPage& page_named(const std::vector<ManPage>& pages, const std::string& name) {
    const auto found = std::find_if(pages.begin(), pages.end(),
                                    [&](const ManPage& page) { return page.name == name; });
    RM_CHECK(found != pages.end(), "there is no page {}", name);
    return *found;
}

bool has_groff() {
    return std::system("command -v groff > /dev/null") == 0;
}

// As a reader sees them, all in one, or with -z groff's warnings alone.
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
    const std::vector<ManPage> all = pages();
    EXPECT_EQ(all.front().name, "ringmaster");
    for (const char* name : {"ringmaster-submit", "ringmaster-top", "ringmaster-data-prepare",
                             "ringmaster-pki-issue", "ringmaster-man", "ringmaster-completion"}) {
        EXPECT_EQ(page_named(all, name).number, 1);
    }
}

TEST(ManPages, SayWhatTheCommandLineSays) {
    if (!has_groff()) GTEST_SKIP() << "no groff here";
    const std::vector<ManPage> all = pages();
    const std::string history = rendered({page_named(all, "ringmaster-history")});
    for (const char* words :
         {"RINGMASTER-HISTORY(1)", "ringmaster-history - Every attempt of every job",
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

TEST(ManPages, DescribeTheJobFileAsItsDocumentDoes) {
    if (!has_groff()) GTEST_SKIP() << "no groff here";
    const std::string text = rendered({page_named(pages(), "ringmaster-job")});
    for (const char* words :
         {"RINGMASTER-JOB(5)", "checkpoint.keep", "how many are kept, from 1; default: 2",
          "model: {preset: tiny}", "PARALLEL", "instead of a preset: a Hugging Face directory"}) {
        EXPECT_NE(text.find(words), std::string::npos) << words << '\n' << text;
    }
    EXPECT_EQ(text.find("**"), std::string::npos) << text;
    EXPECT_EQ(text.find('`'), std::string::npos) << text;
}

TEST(ManPages, GiveGroffNothingToWarnOf) {
    if (!has_groff()) GTEST_SKIP() << "no groff here";
    EXPECT_EQ(rendered(pages(), "-z"), "");
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
