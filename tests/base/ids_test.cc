#include "base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "base/format.h"

namespace rm {
namespace {

TEST(Ids, OfDifferentThingsAreDifferentTypes) {
    static_assert(!std::is_convertible_v<JobId, NodeId>);
    static_assert(!std::is_constructible_v<JobId, NodeId>);
    EXPECT_EQ(JobId{"a"}, JobId{"a"});
    EXPECT_LT(JobId{"a"}, JobId{"b"});
    EXPECT_TRUE(JobId{}.empty());
}

TEST(Ids, PrintTheirValue) {
    EXPECT_EQ(format("{} {} {}", NodeId{"gpu-1"}, Epoch{7}, DeviceId{{"gpu-1"}, 3}),
              "gpu-1 7 gpu-1:3");
}

TEST(Epoch, HigherWins) {
    EXPECT_GT(Epoch{2}, Epoch{1});
    EXPECT_EQ(Epoch{}, Epoch{0});
}

}  // namespace
}  // namespace rm
