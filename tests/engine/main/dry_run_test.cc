// Asks the real ring-train for predictions of a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/main/dry_run_command.h"
#include "engine/schedule/device_profile_json.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using test::Finished;

class DryRun : public testing::Test {
protected:
    Finished ring_train(const std::string& memory, const std::string& words,
                        const std::string& precision = "bf16") {
        dir_.write("data/a.txt", test::some_text(1, 600));
        dir_.write("config.json", R"({"name": "x", "model": {"preset": "tiny"},
                       "parallel": {"ring": 2}, "engine": {"threads_per_rank": 1}, "memory": )" +
                                      memory + R"(, "precision": ")" + precision +
                                      R"(", "data": {"path": ")" + dir_.file("data") + R"("},
                       "stages": [{"context": 512, "batch": 512, "tokens": 512}]})");
        return test::run_program(RM_RING_TRAIN, dir_.file("config.json") + " " + words);
    }
    TempDir dir_;
};

// Returns the MiB that follow `words` in `text`.
double mib_after(const std::string& words, const std::string& text) {
    const auto at = text.find(words);
    return at == std::string::npos ? 0 : std::atof(text.c_str() + at + words.size());
}

const std::string kSmallTiles = R"({"tile": 64})";

TEST_F(DryRun, WithoutAProfileIsAboutMemoryAndSaysHowToGetTimes) {
    const Finished run = ring_train(kSmallTiles, "--dry-run");
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("mesh        ring 2"), HasSubstr("state         "),
                                  HasSubstr("device arena  "), HasSubstr("lower bound"),
                                  HasSubstr(" |"), HasSubstr("ring-bench device --out FILE")));
    EXPECT_THAT(run.output, Not(HasSubstr("tok/s")));
}

TEST_F(DryRun, WithAProfileSaysWhatTheStepTakesAndAgainstWhichPeak) {
    const Finished run = ring_train(kSmallTiles, "--dry-run --profile L40S --link 100");
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output,
                AllOf(HasSubstr("step          "), HasSubstr("tok/s"), HasSubstr("works         "),
                      HasSubstr("waits         "), HasSubstr("% (causal"),
                      HasSubstr("of bf16 362 TFLOP/s of L40S")));
    EXPECT_THAT(run.output, Not(HasSubstr("messages take no time")));
}

TEST(DryRunExamples, FitTheirLimits) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(RM_EXAMPLES "/long_contexts")) {
        const std::string file = entry.path().string();
        const std::string kind = file.find("L40S") == std::string::npos ? "A100" : "L40S";
        const Finished run =
            test::run_program(RM_RING_TRAIN, file + " --dry-run --link 100 --profile " + kind);
        EXPECT_EQ(run.code, 0) << file << "\n" << run.output;
        EXPECT_THAT(run.output, HasSubstr("(memory.host)")) << file;
        ++count;
    }
    EXPECT_GT(count, 0);
}

TEST_F(DryRun, WithoutALinkSaysThatMessagesTakeNoTime) {
    EXPECT_THAT(ring_train(kSmallTiles, "--dry-run --profile L40S").output,
                HasSubstr("messages take no time without --link GBIT"));
}

TEST_F(DryRun, TakesAProfileFromAFile) {
    DeviceProfile profile = published_profiles()[2];
    profile.name = "mine";
    ASSERT_TRUE(write_device_profile(dir_.file("mine.json"), profile).ok());
    const Finished run = ring_train(kSmallTiles, "--dry-run --profile " + dir_.file("mine.json"));
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr("TFLOP/s of mine"));
}

// With state on the host, a host with slow ops delays the passes.
TEST_F(DryRun, UpdatesStateOnTheHostAtTheHostsSpeed) {
    DeviceProfile slow = published_profiles()[0];
    for (OpSpeed& speed : slow.ops)
        speed.overhead = {0.5};
    ASSERT_TRUE(write_device_profile(dir_.file("slow.json"), slow).ok());
    const std::string memory = kSmallTiles + R"(, "optimizer": {"place": "host"})";
    const std::string words = "--dry-run --profile L40S";
    const Finished fast = ring_train(memory, words);
    EXPECT_EQ(fast.code, 0) << fast.output;
    EXPECT_THAT(fast.output, HasSubstr("host optimizer"));
    EXPECT_THAT(fast.output, HasSubstr(" ms, "));
    const Finished held = ring_train(memory, words + " --host-profile " + dir_.file("slow.json"));
    EXPECT_THAT(held.output, HasSubstr("update "));
}

TEST_F(DryRun, DrawsTheStep) {
    const Finished run =
        ring_train(kSmallTiles, "--dry-run --profile H200 --figure " + dir_.file("step.svg"));
    EXPECT_EQ(run.code, 0) << run.output;
    std::stringstream text;
    text << std::ifstream(dir_.file("step.svg")).rdbuf();
    EXPECT_THAT(text.str(), AllOf(HasSubstr("<svg"), HasSubstr("tiny, 512 tokens, ring 2 on H200"),
                                  HasSubstr("</svg>")));
}

TEST_F(DryRun, NamesTheProfilesThereAre) {
    const Finished run = ring_train(kSmallTiles, "--dry-run --profile L40");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.output, HasSubstr("neither a file nor one of L40S, A100, H100, H200"));
}

TEST_F(DryRun, RefusesAProfileOfAnotherPrecision) {
    const Finished run = ring_train(kSmallTiles, "--dry-run --profile L40S", "fp32");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.output, HasSubstr("its speeds are of bf16"));
}

TEST_F(DryRun, RefusesWordsThatAreNoUse) {
    EXPECT_THAT(ring_train(kSmallTiles, "--figure x.svg").output,
                HasSubstr("--figure needs --dry-run"));
    EXPECT_THAT(ring_train(kSmallTiles, "--dry-run --link fast").output,
                HasSubstr("--link: 'fast' is not a number"));
}

TEST_F(DryRun, ChoosesMemoryWithinALimitAndTrainsWithIt) {
    // Without a limit the run keeps everything, and 3 MiB less is still possible. Workspaces depend
    // on this machine's matrix library.
    const double kept = mib_after("device total ", ring_train(kSmallTiles, "--dry-run").output);
    const std::string limit = format("{}KiB", static_cast<int>((kept - 3) * 1024));
    const std::string memory = format(R"({{"tile": 64, "device": "{}"}})", limit);
    const Finished dry = ring_train(memory, "--dry-run");
    EXPECT_EQ(dry.code, 0) << dry.output;
    EXPECT_THAT(dry.output, HasSubstr("device at most " + limit));
    EXPECT_THAT(dry.output, HasSubstr("(memory.device)"));
    EXPECT_THAT(dry.output, Not(HasSubstr("alpha 1,")));
    const Finished run = ring_train(memory, "");
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr("step 1/1"));
}

TEST_F(DryRun, NamesTheNearestPolicyWhereNoneFits) {
    const Finished run = ring_train(R"({"tile": 64, "device": "100KiB"})", "");
    EXPECT_EQ(run.code, 3);
    EXPECT_THAT(run.output, AllOf(HasSubstr("memory.device: 100KiB is not enough"),
                                  HasSubstr("the nearest takes")));
}

TEST_F(DryRun, CountsAllThatARankTakesOfItsDeviceAndEndsWithAVerdict) {
    // This is enough for the arena, but not for everything that the rank needs.
    const Finished arena = ring_train(R"({"tile": 64, "device": "8MiB"})", "--dry-run");
    EXPECT_EQ(arena.code, 3) << arena.output;
    EXPECT_THAT(arena.output, HasSubstr("memory.device: 8MiB is not enough"));
    const Finished all = ring_train(R"({"tile": 64, "device": "100MiB"})", "--dry-run");
    EXPECT_EQ(all.code, 0) << all.output;
    EXPECT_THAT(all.output,
                AllOf(HasSubstr("  fits  "), HasSubstr("of 100.0 MiB (memory.device)")));
}

TEST_F(DryRun, HoldsAJobWithoutALimitAgainstTheProfilesDevice) {
    const Finished run = ring_train(kSmallTiles, "--dry-run --profile L40S --link 100");
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr("of 44.7 GiB (the L40S)"));
}

TEST_F(DryRun, EndsWithThreeWhereTheProfilesDeviceIsTooSmall) {
    DeviceProfile small = published_profiles()[0];
    small.name = "small card";
    small.memory = Bytes{4 << 20};
    ASSERT_TRUE(write_device_profile(dir_.file("small.json"), small).ok());
    const Finished run = ring_train(kSmallTiles, "--dry-run --profile " + dir_.file("small.json"));
    EXPECT_EQ(run.code, 3) << run.output;
    EXPECT_THAT(run.output,
                AllOf(HasSubstr("does not fit  "), HasSubstr("of 4.0 MiB (the small card)")));
}

}  // namespace
}  // namespace rm
