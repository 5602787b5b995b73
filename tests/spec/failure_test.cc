#include "spec/failure.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rm {
namespace {

TEST(Failures, HaveNamesOfTheirOwn) {
    std::set<std::string_view> names;
    for (const FailureRow& row : kFailures) {
        EXPECT_EQ(to_string(row.kind), row.name);
        EXPECT_FALSE(row.name.empty());
        EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    }
}

TEST(Failures, HaveARemedyEach) {
    for (const FailureRow& row : kFailures) {
        EXPECT_EQ(row.remedies.attempt.empty(), row.kind == FailureClass::none) << row.name;
    }
}

// Continuing a job runs its file again: no advice for failures that are not even retried here.
TEST(Failures, ThatAreNotRetriedSayWhatToChangeInTheJob) {
    for (const FailureRow& row : kFailures) {
        if (row.kind == FailureClass::none) continue;
        EXPECT_EQ(row.remedies.job.empty(), row.retried == Retried::yes) << row.name;
        EXPECT_EQ(row.culprit == Culprit::job, row.retried == Retried::no) << row.name;
    }
}

TEST(RankExits, AreOfOneClassEach) {
    std::set<int> codes;
    for (const RankExit& exit : kRankExits) {
        EXPECT_TRUE(codes.insert(exit.code).second) << exit.code << " twice";
        EXPECT_EQ(row_of_exit(exit.code).kind, exit.kind) << exit.code;
    }
}

TEST(RankExits, ThatTheTableDoesNotNameAreOfTheRank) {
    EXPECT_EQ(row_of_exit(42).kind, FailureClass::rank);
    EXPECT_EQ(row_of_exit(-1).kind, FailureClass::rank);
    EXPECT_EQ(row_of_exit(42).retried, Retried::yes);
}

}  // namespace
}  // namespace rm
