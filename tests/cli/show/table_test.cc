#include "cli/show/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rm {
namespace {

Table sample() {
    Table table({{"ID"}, {"STEP", Align::right}, {"NOTE"}});
    table.add({"a1", "7/50", "fine"});
    table.add({{"b22222", Color::green}, "", "line\nbreak"});
    return table;
}

TEST(Table, LeavesOutWhatItCanSpareOnANarrowTerminal) {
    Table table({{"NAME"}, {"MEMORY", Align::right, 1}, {"CORES", Align::right, 2}, {"STATE"}});
    table.add({"a", "23.5 GiB", "2", "ready"});
    const auto shown = [&table](bool terminal, int width) {
        std::ostringstream out;
        table.print({out, terminal, false, width});
        return out.str();
    };
    EXPECT_EQ(shown(true, 80), "NAME    MEMORY  CORES  STATE\na     23.5 GiB      2  ready\n");
    EXPECT_EQ(shown(false, 10), shown(true, 80)) << "a pipe has everything";
    EXPECT_EQ(shown(true, 26),
              "NAME    MEMORY  STATE\na     23.5 GiB  ready\n(too narrow for CORES)\n");
    EXPECT_EQ(shown(true, 12), "NAME  STATE\na     ready\n(too narrow for MEMORY, CORES)\n");
}

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
    std::ostringstream out;
    sample().print({out});
    EXPECT_EQ(out.str(),
              "ID      STEP  NOTE\n"
              "a1      7/50  fine\n"
              "b22222     -  line break\n");
}

TEST(Table, PaintsOnlyWhereColorIsWanted) {
    std::ostringstream out;
    sample().print({out, true, true});
    EXPECT_NE(out.str().find("\x1b[32mb22222\x1b[0m     "), std::string::npos) << out.str();
}

TEST(Table, CountsCharactersNotBytes) {
    Table table({{"A"}, {"B"}});
    table.add({"\xc3\xa4\xc3\xb6", "x"});
    std::ostringstream out;
    table.print({out}, "  ");
    EXPECT_EQ(out.str(), "  A   B\n  \xc3\xa4\xc3\xb6  x\n");
}

TEST(Table, QuotesCsvFieldsThatNeedIt) {
    Table table({{"id"}, {"cause"}});
    table.add({"a", "said \"no\", and left\nfor good"});
    table.add({"b", ""});
    std::ostringstream out;
    table.print_csv(out);
    EXPECT_EQ(out.str(), "id,cause\na,\"said \"\"no\"\", and left\nfor good\"\nb,\n");
}

TEST(Table, RefusesARowOfAnotherLength) {
    Table table({{"A"}, {"B"}});
    EXPECT_THROW(table.add({"only one"}), std::exception);
}

}  // namespace
}  // namespace rm
