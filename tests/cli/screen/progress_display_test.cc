#include "cli/screen/progress_display.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rm {
namespace {

Progress half() {
    return {"step 5/10  loss 2.0", 5, 10, Seconds{192}};
}

TEST(ProgressDisplay, ShortensAStepLineFromItsParentheses) {
    const std::string line =
        "step 7/100  loss 2.8  9 s  MFU 34.6% (causal, bf16 330 GFLOP/s measured)  mem 1.0 GiB"
        "  ring 24.0 MiB (11.7% of the step spent waiting)";
    EXPECT_EQ(shortened(line, 200), line);
    EXPECT_EQ(shortened(line, 79),
              "step 7/100  loss 2.8  9 s  MFU 34.6%  mem 1.0 GiB  ring 24.0 MiB");
    EXPECT_EQ(shortened(line, 10), "step 7/100");
}

TEST(ProgressBar, ShowsShareAndTimeLeft) {
    EXPECT_EQ(progress_bar(half(), 40), "[===========>          ]  50%  ETA 3m12s");
    EXPECT_EQ(progress_bar({"", 10, 10, Seconds{0}}, 30), "[===============] 100%  ETA 0s");
    EXPECT_EQ(progress_bar({"", 0, 0, {}}, 30), "[>               ]   0%  ETA -");
}

TEST(ProgressBar, NeverIsWiderThanItMayBe) {
    for (int width = 24; width < 120; ++width) {
        EXPECT_LE(progress_bar(half(), width).size(), static_cast<std::size_t>(width));
    }
}

TEST(ProgressDisplay, PrintsPlainLinesWhereThereIsNoTerminal) {
    std::ostringstream out;
    {
        ProgressDisplay display({out});
        display.progress(half());
        display.note("a note");
        display.progress(half());
    }
    EXPECT_EQ(out.str(), "step 5/10  loss 2.0\na note\nstep 5/10  loss 2.0\n");
}

TEST(ProgressDisplay, DrawsAgainInPlaceOnATerminal) {
    std::ostringstream out;
    const std::string drawn = "step 5/10  loss 2.0\n[===========>          ]  50%  ETA 3m12s";
    const std::string erased = "\r\x1b[1A\x1b[J";
    {
        ProgressDisplay display({out, true, false, 41});
        display.progress(half());
        display.note("a note");
        display.progress(half());
    }
    EXPECT_EQ(out.str(), drawn + erased + "a note\n" + drawn + erased + drawn + "\n");
}

TEST(ProgressDisplay, CutsALineThatWouldWrap) {
    std::ostringstream out;
    ProgressDisplay display({out, true, false, 25});
    display.progress({std::string(100, 'x'), 1, 2, {}});
    EXPECT_EQ(out.str().find('\n'), 24u);
}

}  // namespace
}  // namespace rm
