// A planned trace without buffers was written like an unplanned one: without the column.
#include <gtest/gtest.h>

#include "engine/memory/arena_csv.h"

namespace rm {
namespace {

TEST(Regress0002, APlannedTraceHasItsColumnAlsoWithoutBuffers) {
    const auto named = parse_arena_csv("t", "id,lower,upper,size\n");
    ASSERT_TRUE(named);
    EXPECT_EQ(write_arena_csv(*named, ArenaPlan{}), "id,lower,upper,size,offset\n");
    EXPECT_EQ(write_arena_csv(*named), "id,lower,upper,size\n");
}

}  // namespace
}  // namespace rm
