#include <gtest/gtest.h>

#include "tests/kernels/meta/watched_kernels.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

DeclaredOps watch_all_cases(DType compute) {
    DeclaredOps declared;
    for (const OpCase& op_case : all_op_cases())
        watch_case(op_case, compute, declared);
    return declared;
}

class DeclaredAccesses : public ::testing::TestWithParam<DType> {};

TEST_P(DeclaredAccesses, HoldAllThatAnOpReadsAndWritesAndNothingElse) {
    const DeclaredOps ops = watch_all_cases(GetParam());
#define RM_OP(Op) EXPECT_TRUE(ops.contains(std::string(Op::kName))) << Op::kName;
    RM_EACH_OP(RM_OP)
#undef RM_OP
    EXPECT_TRUE(ops.contains("prepare"));
    for (const auto& [name, op] : ops) {
        EXPECT_EQ(op.faults, std::vector<std::string>()) << name;
        for (std::size_t i = 0; i < op.changed.size(); ++i)
            EXPECT_TRUE(op.changed[i]) << name << " never changed declared write " << i;
    }
}

constexpr DType kTypes[] = {DType::bf16, DType::f32};
INSTANTIATE_TEST_SUITE_P(Cpu, DeclaredAccesses, ::testing::ValuesIn(some(kTypes, 2)),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace rm::test
