// Each process raced the codes of matrix products when it made its first CPU kernels. On a CPU
// where two are about as fast, a busy machine decided which one ran: a plan and its job disagreed
// about workspace (4.4 and 6.5 MiB), and a resumed run could change its last bits. Now the kind of
// CPU decides: f32 takes our loops on every kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

TEST(RacedProducts, TheKindOfCpuChoosesTheCode) {
    EXPECT_THAT(describe_cpu_code({.compute = DType::f32}), testing::EndsWith("by our loops"));
}

}  // namespace
}  // namespace rm
