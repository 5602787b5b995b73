#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/command_line.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using testing::HasSubstr;

struct Shown {
    Result<ExitCode> code = ExitCode::ok;
    std::string out;
};

Shown show(std::vector<const char*> words) {
    words.insert(words.begin(), {"ringmaster", "data", "show"});
    const auto parsed = parse_command_line(static_cast<int>(words.size()), words.data());
    std::ostringstream out, err;
    Console console{{out}, {err}};
    const SystemClock clock;
    VerbContext context{console, clock, {}};
    Shown shown;
    shown.code = std::get<CommandLine>(parsed).command->run(context);
    shown.out = out.str();
    return shown;
}

TEST(DataShow, CountsDocumentsByTheirLength) {
    TempDir dir;
    dir.write("text/a.txt", std::string(9, 'a'));
    dir.write("text/b.txt", std::string(15, 'b'));
    dir.write("text/c.txt", std::string(3071, 'c'));
    const std::string text = dir.file("text");
    const Shown shown = show({text.c_str()});
    ASSERT_TRUE(shown.code) << shown.code.error().message;
    EXPECT_THAT(shown.out, HasSubstr("the longest document has 3,071 tokens\n"));
    EXPECT_THAT(shown.out, HasSubstr("FROM  DOCUMENTS  TOKENS  SHARE  SHARE OF SO LONG\n"));
    EXPECT_THAT(shown.out, HasSubstr("   8          2      24   0.8%            100.0%\n"));
    EXPECT_THAT(shown.out, HasSubstr("  2K          1   3,071  99.2%             99.2%\n"));
    const auto json = nlohmann::json::parse(show({text.c_str(), "-o", "json"}).out);
    EXPECT_EQ(json["documents"], 3);
    EXPECT_EQ(json["longestDocument"], 3071);
    EXPECT_EQ(json["lengths"].size(), 9u);
    EXPECT_EQ(json["lengths"][1],
              (nlohmann::json{{"fromTokens", 16}, {"documents", 0}, {"tokens", 0}}));
}

TEST(DataShow, SaysWhatIsNotThere) {
    const Shown shown = show({"/nowhere/at/all"});
    ASSERT_FALSE(shown.code);
    EXPECT_EQ(shown.code.error().code, ErrorCode::not_found);
    EXPECT_THAT(shown.code.error().message, HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace rm
