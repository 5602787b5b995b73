// Runs the real ring-arena on small traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "engine/memory/arena_solver.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using test::Finished;

Finished ring_arena(const std::string& arguments) {
    return test::run_program(RM_RING_ARENA, arguments);
}

std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

class RingArena : public testing::Test {
protected:
    RingArena() { dir_.write("t.csv", "id,lower,upper,size\nq,0,2,4\nk,1,3,2\nv,2,4,4\n"); }
    std::string trace() const { return dir_.file("t.csv"); }
    TempDir dir_;
};

TEST_F(RingArena, WritesThePlanAndSaysWhatItProved) {
    const std::string out = dir_.file("out.csv");
    const Finished run = ring_arena(trace() + " --capacity 6 -o " + out);
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output,
                AllOf(HasSubstr("3 blocks in 1 part of time"),
                      HasSubstr("peak 6, lower bound 6, proved least, "), HasSubstr("fits in 6")));
    EXPECT_EQ(read(out), "id,lower,upper,size,offset\nq,0,2,4,0\nk,1,3,2,4\nv,2,4,4,0\n");
}

TEST_F(RingArena, LooksForTheLeastPeakWithoutACapacity) {
    for (const char* solver : {"search", "greedy"}) {
        const Finished run = ring_arena(trace() + " --threads 1 --solver " + solver);
        EXPECT_EQ(run.code, 0) << run.output;
        EXPECT_THAT(run.output, HasSubstr("peak 6, lower bound 6, proved least"));
    }
}

TEST_F(RingArena, ExitsWithFourAndWritesNothingWhereItDoesNotFit) {
    const Finished run = ring_arena(trace() + " --capacity 5 -o " + dir_.file("out.csv"));
    EXPECT_EQ(run.code, 4) << run.output;
    EXPECT_THAT(run.output, HasSubstr("does not fit in 5: no plan has a peak below 6"));
    EXPECT_FALSE(std::filesystem::exists(dir_.file("out.csv")));
}

TEST_F(RingArena, ExitsWithTwoAndNamesLineAndColumnOfABadTrace) {
    dir_.write("bad.csv", "id,lower,upper,size\nq,0,2,4\nk,1,3,two\n");
    const Finished run = ring_arena(dir_.file("bad.csv"));
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.output, HasSubstr("bad.csv:3: column size: 'two' is not a whole number"));
    EXPECT_EQ(ring_arena(dir_.file("none.csv")).code, 2);
}

TEST_F(RingArena, ExitsWithTwoOnWrongArguments) {
    EXPECT_THAT(ring_arena("").output, HasSubstr("TRACE is missing; usage: ring-arena TRACE"));
    EXPECT_THAT(ring_arena(trace() + " --solver luck").output,
                HasSubstr("--solver: 'luck' is not one of search, milp, greedy"));
    EXPECT_THAT(ring_arena(trace() + " --capacity 1G").output,
                HasSubstr("--capacity: '1G' is not a whole number of 0 or more"));
    EXPECT_THAT(ring_arena(trace() + " --speed 9").output,
                HasSubstr("'ring-arena' has no option --speed"));
    for (const char* words : {"--timeout -1", "--threads 0", "other.csv", "--capacity"})
        EXPECT_EQ(ring_arena(trace() + " " + words).code, 2) << words;
}

TEST_F(RingArena, ExitsWithOneWhereThePlanCannotBeWritten) {
    const Finished run = ring_arena(trace() + " -o " + dir_.file("none/out.csv"));
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.output, HasSubstr("none/out.csv: cannot be written"));
}

TEST_F(RingArena, SolvesAsAMixedIntegerProgrammeOrSaysWhatIsMissing) {
    const Finished run = ring_arena(trace() + " --solver milp");
    const bool has_cbc = make_milp_solver().ok();
    EXPECT_EQ(run.code, has_cbc ? 0 : 1) << run.output;
    EXPECT_THAT(run.output, HasSubstr(has_cbc ? "peak 6" : "this build has no CBC"));
}

}  // namespace
}  // namespace rm
