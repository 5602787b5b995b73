#include "engine/memory/arena_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusals.h"

namespace rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
    return test::refusal_of(parse_arena_csv("t.csv", text));
}

TEST(ArenaCsv, ReadsColumnsInAnyOrder) {
    const auto named =
        parse_arena_csv("t.csv", "size,id,upper,lower\r\n7,layer 1 q,5,-3\r\n8,b,6,0\r\n").value();
    EXPECT_THAT(named.ids, ElementsAre("layer 1 q", "b"));
    const ArenaBlock& first = named.trace.blocks.at(0);
    EXPECT_EQ(first.lower, -3);
    EXPECT_EQ(first.upper, 5);
    EXPECT_EQ(first.size, Bytes{7});
    EXPECT_TRUE(named.trace.groups.empty());
}

TEST(ArenaCsv, ReadsGroupsAndBlocksWithoutOne) {
    const auto named =
        parse_arena_csv("t.csv", "id,lower,upper,size,group\na,0,1,2,3\nb,0,1,2,").value();
    EXPECT_THAT(named.trace.groups, ElementsAre(3, kNoGroup));
}

TEST(ArenaCsv, WritesWhatItReadAndTheOffsets) {
    const auto named = parse_arena_csv("t.csv", "id,lower,upper,size\na,0,2,4\nb,1,3,2\n").value();
    EXPECT_EQ(write_arena_csv(named, ArenaPlan{{{0}, {4}}, {6}}),
              "id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,2,4\n");
    const auto grouped =
        parse_arena_csv("t.csv", "id,group,lower,upper,size\na,3,0,1,2\nb,,0,1,2\n").value();
    EXPECT_EQ(write_arena_csv(grouped, ArenaPlan{{{0}, {2}}, {4}}),
              "id,lower,upper,size,group,offset\na,0,1,2,3,0\nb,0,1,2,,2\n");
}

TEST(ArenaCsv, WritesATraceAloneAsItReadsIt) {
    for (const char* text : {"id,lower,upper,size\na,0,2,4\nb,1,3,2\n",
                             "id,lower,upper,size,group\na,0,1,2,3\nb,0,1,2,\n"}) {
        EXPECT_EQ(write_arena_csv(parse_arena_csv("t.csv", text).value()), text);
    }
}

TEST(ArenaCsv, AcceptsATraceWithoutBlocks) {
    EXPECT_EQ(refusal("id,lower,upper,size"), "accepted");
}

TEST(ArenaCsv, NamesLineAndColumnOfWhatIsWrong) {
    EXPECT_THAT(refusal(""), HasSubstr("t.csv: empty; the first line names the columns"));
    EXPECT_THAT(refusal("id,lower,upper\n"), HasSubstr("t.csv:1: no column 'size'"));
    EXPECT_THAT(refusal("id,lower,upper,size,color\n"),
                HasSubstr("t.csv:1: column 'color' is not known"));
    EXPECT_EQ(refusal("id,lower,upper,size,id\n"), "t.csv:1: column 'id' is there twice");
    const auto row = [](const std::string& line) {
        return refusal("id,lower,upper,size\na,0,1,5\n" + line + "\n");
    };
    EXPECT_EQ(row("b,0,1"), "t.csv:3: 3 fields; the first line has 4");
    EXPECT_EQ(row(""), "t.csv:3: 1 fields; the first line has 4");
    EXPECT_EQ(row(",0,1,5"), "t.csv:3: column id: empty; every block needs a name");
    EXPECT_EQ(row("a,0,1,5"), "t.csv:3: column id: 'a' is line 2's");
    EXPECT_EQ(row("b,3,3,5"), "t.csv:3: column upper: 3 is not above lower, 3");
    EXPECT_EQ(row("b,0,1,0"),
              "t.csv:3: column size: '0' is not a whole number from 1 to 1152921504606846976");
    for (const char* size :
         {"5x", "-5", "1.5", "", " 5", "0x5", "1152921504606846977", "99999999999999999999999"}) {
        EXPECT_THAT(row(std::string("b,0,1,") + size),
                    HasSubstr(std::string("t.csv:3: column size: '") + size + "'"));
    }
    EXPECT_THAT(row("b,x,1,5"), HasSubstr("t.csv:3: column lower: 'x'"));
    EXPECT_THAT(refusal("id,lower,upper,size,group\na,0,1,5,-2\n"),
                HasSubstr("t.csv:2: column group: '-2'"));
}

TEST(ArenaCsv, RefusesSizesThatTogetherOverflow) {
    std::string text = "id,lower,upper,size\n";
    for (const char* id : {"a", "b", "c", "d"})
        text += std::string(id) + ",0,1,1152921504606846976\n";
    EXPECT_EQ(refusal(text), "accepted");
    EXPECT_EQ(refusal(text + "e,8,9,1\n"),
              "t.csv:6: column size: the sizes up to here add up to more than 2^62");
}

}  // namespace
}  // namespace rm
