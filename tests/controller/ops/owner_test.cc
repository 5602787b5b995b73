#include <gmock/gmock.h>

#include "controller/ops/checks.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

TEST(Owner, SubmittersActOnTheirOwnJobsAndAdminsOnAll) {
    World world;
    const JobId id = world.submit(small_spec());
    world.state.jobs.at(id).owner = "ada";
    const auto may = [&](const char* name, Role role) {
        return check_owner(world.state, id, {name, role, "token"}, "continue");
    };
    EXPECT_TRUE(may("ada", Role::submitter));
    EXPECT_TRUE(may("eve", Role::admin));
    const Status refused = may("eve", Role::submitter);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
    EXPECT_THAT(refused.error().message,
                testing::HasSubstr("'eve' may continue their own, an admin every job"));
}

TEST(Owner, OnlyAdminsAskForAnyPriority) {
    EXPECT_TRUE(check_priority(kMostPriority, {"ada", Role::submitter, "token"}));
    EXPECT_TRUE(check_priority(2147483647, {"eve", Role::admin, "token"}));
    const Status refused = check_priority(2147483647, {"ada", Role::submitter, "token"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
    EXPECT_EQ(refused.error().message,
              "priority: 2147483647; a submitter may ask for at most 100, an admin for more");
}

}  // namespace
}  // namespace rm::test
