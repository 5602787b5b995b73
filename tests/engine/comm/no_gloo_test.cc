// A build without gloo.
#include <gmock/gmock.h>

#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

TEST(NoGloo, SaysWhyRanksOfTwoNodesCannotMeet) {
    const auto errors = testing::run_ranks({.kind = "gloo", .num_ranks = 2}, [](Transport&) {});
    for (const std::string& error : errors) {
        EXPECT_THAT(error, ::testing::HasSubstr("this build has no gloo; install libgloo-dev"));
    }
}

}  // namespace
}  // namespace rm
