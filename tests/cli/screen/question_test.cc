#include "cli/screen/question.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rm {
namespace {

// The answer to "Sure?" of a user who types these lines, and how often it was asked.
struct Asked {
    Answer answer = Answer::no;
    std::string shown;
};
Asked typed(const std::string& lines) {
    std::ostringstream out;
    std::istringstream in(lines);
    const Answer answer = ask({out, true}, "Sure?", typed_lines({in, true}, nullptr));
    return {answer, out.str()};
}

TEST(Question, EnterIsYesAndWordsCountInAnyCase) {
    for (const char* yes : {"\n", "y\n", "Y\n", "yes\n", " YES \n"})
        EXPECT_EQ(typed(yes).answer, Answer::yes) << yes;
    for (const char* no : {"n\n", "N\n", "no\n", " No \n"})
        EXPECT_EQ(typed(no).answer, Answer::no) << no;
    EXPECT_EQ(typed("\n").shown, "Sure? [Y/n] ");
}

TEST(Question, TheEndOfTheInputIsNo) {
    EXPECT_EQ(typed("").answer, Answer::no);
    EXPECT_EQ(typed("").shown, "Sure? [Y/n] \n") << "what follows is on its own line";
}

TEST(Question, OtherAnswersAreAskedAgain) {
    const Asked asked = typed("yep\n4\nn\ny\n");
    EXPECT_EQ(asked.answer, Answer::no);
    EXPECT_EQ(asked.shown, "Sure? [Y/n] Sure? [Y/n] Sure? [Y/n] ");
    EXPECT_EQ(typed("yep\n").answer, Answer::no);
}

TEST(Question, TakesItsLinesFromWhereverTheyCome) {
    std::ostringstream out;
    int reads = 0;
    const Answer answer = ask({out, true}, "Sure?", [&]() -> std::optional<std::string> {
        return ++reads < 3 ? "what" : "y";
    });
    EXPECT_EQ(answer, Answer::yes);
    EXPECT_EQ(reads, 3);
}

}  // namespace
}  // namespace rm
