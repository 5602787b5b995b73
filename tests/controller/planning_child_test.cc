#include "controller/planning/planning_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/planning/planning_messages.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

using ::testing::HasSubstr;

// Two jobs, one of which fits, and a device of every kind of availability.
PlanningSnapshot snapshot_of_two_jobs() {
    PlanningSnapshot snapshot{.version = 7, .now = {1'000'000}};
    snapshot.pending.push_back({.id = {"abc123"}, .spec = small_spec(ring(2))});
    snapshot.pending.push_back({.id = {"def456"},
                                .spec = small_spec(ring(4)),
                                .waiting_since = {500'000},
                                .excluded = {{{"n1"}, 1}},
                                .waits = "a retry"});
    for (int i = 0; i < 4; ++i) {
        snapshot.devices.push_back({.id = {{"n1"}, i},
                                    .kind = "cpu",
                                    .build = "build-1",
                                    .availability = static_cast<Availability>(i / 2),
                                    .held_by = i < 2 ? "" : "job xyz789"});
    }
    return snapshot;
}

std::vector<std::string> the_controller() {
    return {RM_CONTROLLER, kPlanVerb};
}
std::vector<std::string> shell(const std::string& script) {
    return {"/bin/sh", "-c", script};
}

std::string failure_of(const std::vector<std::string>& command, PlanningLimits limits = {}) {
    const auto decisions = plan_in_child(command, snapshot_of_two_jobs(), limits);
    return decisions ? "" : decisions.error().message;
}

TEST(PlanningMessages, CarryASnapshotAndItsDecisionsUnchanged) {
    const PlanningSnapshot snapshot = snapshot_of_two_jobs();
    const PlanningSnapshot again = unpack_snapshot(pack(snapshot)).value();
    EXPECT_EQ(again.version, snapshot.version);
    EXPECT_EQ(again.now, snapshot.now);
    ASSERT_EQ(again.pending.size(), 2u);
    EXPECT_EQ(again.pending[1].spec, snapshot.pending[1].spec);
    EXPECT_EQ(again.pending[1].waiting_since, snapshot.pending[1].waiting_since);
    EXPECT_EQ(again.pending[1].excluded, snapshot.pending[1].excluded);
    EXPECT_EQ(again.pending[1].waits, "a retry");
    ASSERT_EQ(again.devices.size(), 4u);
    EXPECT_EQ(again.devices[3].availability, Availability::busy);
    EXPECT_EQ(again.devices[3].held_by, "job xyz789");
    EXPECT_EQ(pack(again), pack(snapshot));
    const std::string decisions = pack(plan_trivially(snapshot));
    EXPECT_EQ(pack(unpack_decisions(decisions).value()), decisions);
}

TEST(PlanningMessages, OfOtherBytesAreAnError) {
    EXPECT_EQ(unpack_snapshot("\xff\xff").error().code, ErrorCode::data_loss);
    EXPECT_EQ(unpack_decisions("\xff\xff").error().code, ErrorCode::data_loss);
}

TEST(PlanningChild, DecidesAsThePlannerInThisProcess) {
    const PlanningSnapshot snapshot = snapshot_of_two_jobs();
    const auto decisions = plan_in_child(the_controller(), snapshot);
    ASSERT_TRUE(decisions) << decisions.error().message;
    EXPECT_EQ(pack(*decisions), pack(plan_trivially(snapshot)));
    EXPECT_TRUE(std::holds_alternative<Plan>(decisions->front().decision));
}

PlanningSnapshot large_snapshot() {
    PlanningSnapshot snapshot = snapshot_of_two_jobs();
    for (int i = 0; i < 20'000; ++i) {
        snapshot.devices.push_back({.id = {{format("node-{}", i)}, 0},
                                    .kind = "cpu",
                                    .build = "build-1",
                                    .availability = Availability::busy,
                                    .held_by = "job xyz789"});
    }
    return snapshot;
}

TEST(PlanningChild, TakesASnapshotLargerThanAnyPipe) {
    EXPECT_TRUE(plan_in_child(the_controller(), large_snapshot()));
}

TEST(PlanningChild, ThatCrashesIsAnErrorWithItsSignal) {
    EXPECT_THAT(failure_of(shell("kill -SEGV $$")), HasSubstr("signal 11"));
    EXPECT_THAT(failure_of(shell("exit 9")), HasSubstr("code 9"));
}

TEST(PlanningChild, ThatIsTooSlowIsEnded) {
    EXPECT_THAT(failure_of(shell("sleep 60"), {.timeout = Seconds{0.2}}),
                HasSubstr("longer than 200 ms"));
}

TEST(PlanningChild, ThatAnswersNonsenseIsAnError) {
    EXPECT_THAT(failure_of(shell("printf '\\377\\377'")), HasSubstr("planning reply"));
    EXPECT_THAT(failure_of(shell("true")), HasSubstr("0 of 2 jobs"));
}

TEST(PlanningChild, ThatCannotBeStartedIsAnError) {
    EXPECT_THAT(failure_of({"/nowhere/planner"}), HasSubstr("/nowhere/planner"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(PlanningChild, ThatNeedsMoreMemoryThanItMayIsAnError) {
    EXPECT_FALSE(plan_in_child(the_controller(), large_snapshot(), {.memory = Bytes{1 << 20}}));
}
#endif

}  // namespace
}  // namespace rm::test
