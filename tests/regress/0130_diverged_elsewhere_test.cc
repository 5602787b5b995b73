// A job of one node whose run diverged was trained once more on another node, as if a file had been
// missing on the first: both were the same kind of bad input.
#include <gmock/gmock.h>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

using testing::HasSubstr;

using Regress0130 = LocalClusterTest;

TEST_F(Regress0130, ARunThatDivergesIsNotTriedOnTheOtherNode) {
    const std::string id = submit(
        state_,
        write_job({.stages = "  - {context: 256, batch: 512, tokens: 20K, learning_rate: 1e300}\n",
                   .parallel = "{data: 1}",
                   .extra = "optimizer: {max_skipped: 2}\n"}));
    ASSERT_TRUE(wait_for_state(state_, id, "failed", Seconds{120}));
    const Json job = show(state_, id);
    EXPECT_THAT(job["failure"].get<std::string>(), HasSubstr("are not finite"));
    ASSERT_EQ(job["attempts"].size(), 1u) << job["attempts"].dump(1);
    EXPECT_EQ(job["attempts"][0]["failureClass"], "bad_input");
}

}  // namespace
}  // namespace rm::e2e
