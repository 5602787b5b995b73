// `ring-arena --timeout 20` on a file of 27 MB ran for more than 15 minutes: neither the greedy
// orders nor the check of the plan looked at the time, and both grew with the square of the blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/memory/arena_csv.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

// Long lives, so that most blocks live together with most others.
std::string many_blocks(std::int64_t count) {
    Rng rng(1);
    std::string text = "id,lower,upper,size\n";
    for (std::int64_t i = 0; i < count; ++i) {
        const auto begin = static_cast<std::int64_t>(rng.below(1'000'000));
        const auto length = static_cast<std::int64_t>(rng.below(500'000));
        text += format("{},{},{},{}\n", i, begin, begin + 1 + length, 1 + rng.below(4096));
    }
    return text;
}

TEST(LargeArenaFile, IsPlannedWithinItsTimeout) {
    const TempDir dir;
    dir.write("t.csv", many_blocks(400'000));
    const SystemClock clock;
    const MonoTime begin = clock.mono();
    const test::Finished run = test::run_program(
        RM_RING_ARENA, dir.file("t.csv") + " --timeout 2 -o " + dir.file("out.csv"));
    EXPECT_LT((clock.mono() - begin).value, 60);
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, testing::HasSubstr("400000 blocks"));
    EXPECT_TRUE(std::filesystem::exists(dir.file("out.csv")));
}

}  // namespace
}  // namespace rm
