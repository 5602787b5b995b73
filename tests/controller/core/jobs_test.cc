#include "tests/controller/world.h"

namespace rm::test {
namespace {

TEST(Submit, AnswersWithAShortIdAndAsksForAPlan) {
    World world;
    const Outcome outcome = world.apply(SubmitJob{{"r"}, small_spec(), "text", 1}, 9);
    const JobId id = reply(outcome).value();
    EXPECT_EQ(id.value.size(), 6u);
    EXPECT_TRUE(asks_for_plan(outcome));
    EXPECT_EQ(world.job(id).state, JobState::pending);
    EXPECT_EQ(world.job(id).yaml, "text");
    EXPECT_FALSE(world.job(id).blocking_reasons.empty());
}

TEST(Submit, TheSameRequestTwiceIsOneJob) {
    World world;
    const JobId first = world.submit(small_spec(), "r");
    EXPECT_EQ(world.submit(small_spec(), "r"), first);
    EXPECT_EQ(world.state.jobs.size(), 1u);
}

TEST(Submit, TheSameRequestWithAnotherSpecIsRefused) {
    World world;
    world.submit(small_spec(), "r");
    JobSpec other = small_spec();
    other.seed = 2;
    const Outcome outcome = world.apply(SubmitJob{{"r"}, other, "", 1}, 9);
    EXPECT_EQ(reply(outcome).error().code, ErrorCode::already_exists);
    EXPECT_TRUE(outcome.events.empty());
}

TEST(Submit, ARequestIdIsNoKeyToTheJobOfAnother) {
    World world;
    const JobId id = world.submit(small_spec(), "r");
    const auto again = [&](const std::string& owner) {
        return reply(world.apply(SubmitJob{{"r"}, small_spec(), "yaml", 9, owner}, 1));
    };
    EXPECT_EQ(again("default").value(), id);
    const Result<JobId> other = again("bob");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::already_exists);
    EXPECT_EQ(other.error().message.find(id.value), std::string::npos) << other.error().message;
}

TEST(Submit, CollidingIdsAreDrawnAgain) {
    World world;
    const Outcome first = world.apply(SubmitJob{{"a"}, small_spec(), "", 5}, 1);
    const Outcome second = world.apply(SubmitJob{{"b"}, small_spec(), "", 5}, 1);
    EXPECT_NE(reply(first).value(), reply(second).value());
}

TEST(Cancel, OfAPendingJobEndsItAtOnce) {
    World world;
    const JobId id = world.submit(small_spec());
    EXPECT_TRUE(reply(world.apply(CancelJob{id}, 1)));
    EXPECT_EQ(world.job(id).state, JobState::cancelled);
    EXPECT_NE(world.job(id).ended.micros, 0);
    EXPECT_TRUE(reply(world.apply(CancelJob{id}, 1))) << "cancelling twice is the same";
}

TEST(Cancel, OfAnUnknownJobSaysSo) {
    World world;
    EXPECT_EQ(reply(world.apply(CancelJob{{"nope"}}, 1)).error().code, ErrorCode::not_found);
}

TEST(Plan, ReasonsAreKeptAndNothingStarts) {
    World world;
    const JobId id = world.submit(small_spec());
    world.apply(PlanReady{id, world.state.planning_version, Reasons{{"too small"}, {"too slow"}}});
    EXPECT_EQ(world.job(id).blocking_reasons, (Reasons{{"too small"}, {"too slow"}}));
    EXPECT_EQ(newest_attempt(world.state, id), nullptr);
}

TEST(Plan, TheSameReasonsAgainAreNoEvent) {
    World world;
    const JobId id = world.submit(small_spec());
    world.apply(PlanReady{id, world.state.planning_version, Reasons{{"too small"}}});
    const Outcome again =
        world.apply(PlanReady{id, world.state.planning_version, Reasons{{"too small"}}});
    EXPECT_TRUE(again.events.empty());
    EXPECT_TRUE(again.changes.empty());
}

TEST(Plan, StartsOneAttemptOnEveryNodeWithANewEpoch) {
    World world;
    world.hello("a", 1);
    world.hello("b", 1);
    world.state.checkpoint_root = "/state/checkpoints";
    const JobId id = world.submit(small_spec());
    const Outcome outcome = world.plan(id, {"b", "a"});
    const auto launches = commands<LaunchAttempt>(outcome);
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_EQ(launches[0].epoch, Epoch{1});
    EXPECT_EQ(launches[0].ranks, (std::vector<RankLaunch>{{1, 0}})) << "node a holds rank 1";
    EXPECT_EQ(launches[0].checkpoint_dir, "/state/checkpoints/" + id.value);
    EXPECT_TRUE(launches[0].plan.placement.empty());
    EXPECT_EQ(world.job(id).state, JobState::starting);
    EXPECT_TRUE(world.job(id).blocking_reasons.empty());
    EXPECT_EQ(world.state.next_epoch, Epoch{2});
}

TEST(Plan, ForDevicesThatAnotherJobTookIsRejectedWithAReason) {
    World world;
    world.hello("a", 1);
    const JobId first = world.submit(small_spec());
    const JobId second = world.submit(small_spec());
    const std::uint64_t version = world.state.planning_version;
    world.plan(first, {"a"});
    Plan late{.mesh = ring(1), .placement = {{{"a"}, 0}}};
    world.apply(PlanReady{second, version, late});
    EXPECT_EQ(world.job(second).state, JobState::pending);
    ASSERT_EQ(world.job(second).blocking_reasons.size(), 1u);
    EXPECT_NE(world.reason(second).find("overtaken: device a:0 is held by"), std::string::npos)
        << world.reason(second);
}

TEST(Plan, ForANodeWithoutASessionIsRejected) {
    World world;
    world.hello("a", 1);
    world.apply(NodeSessionDown{{"a"}});
    const JobId id = world.submit(small_spec());
    world.plan(id, {"a"});
    EXPECT_NE(world.reason(id).find("has no session"), std::string::npos);
}

TEST(Ids, MayBeAbbreviatedWhileTheyAreUnique) {
    World world;
    for (const char* name : {"node-aa", "node-ab", "other"})
        world.hello(name, 1);
    EXPECT_EQ(resolve_node(world.state, "o").value(), NodeId{"other"});
    EXPECT_EQ(resolve_node(world.state, "node-ab").value(), NodeId{"node-ab"});
    EXPECT_EQ(resolve_node(world.state, "node").error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(resolve_node(world.state, "x").error().code, ErrorCode::not_found);
    EXPECT_EQ(resolve_job(world.state, "").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace rm::test
