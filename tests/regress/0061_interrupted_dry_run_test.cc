// A dry run ignored SIGINT: it ran for another 51 s and exited with 0.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

// Not in windows: every chunk of queries is clocked, 65,536 of them in each of 80 layers.
constexpr std::string_view kLong = R"({"name": "x", "model": {"preset": "llama3-70b"},
    "data": {"path": "x"}, "precision": "bf16", "memory": {"offload": "off"},
    "stages": [{"context": 268435456, "batch": 268435456, "tokens": 268435456}]})";

TEST(InterruptedDryRun, EndsAtOnceAndSaysThatItWasStopped) {
    const TempDir dir;
    dir.write("config.json", kLong);
    for (const std::string signal : {"INT", "TERM"}) {
        const SystemClock clock;
        const MonoTime begin = clock.mono();
        const test::Finished run = test::run_program(
            "timeout", "--preserve-status -s " + signal + " -k 60 0.5 " + RM_RING_TRAIN + " " +
                           dir.file("config.json") + " --dry-run --profile L40S");
        EXPECT_EQ(run.code, 130) << run.output;
        EXPECT_LT((clock.mono() - begin).value, 10);
    }
}

}  // namespace
}  // namespace rm
