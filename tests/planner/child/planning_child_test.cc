#include "planner/child/planning_child.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "planner/child/planning_messages.h"
#include "tests/controller/world.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

using ::testing::HasSubstr;

// Two jobs, one of which fits, and a device of every kind of availability.
PlanningSnapshot snapshot_of_two_jobs() {
    PlanningSnapshot snapshot{.version = 7, .now = {1'000'000}, .max_bypass = {90}};
    snapshot.pending.push_back({.id = {"abc123"}, .spec = small_spec(ring(2))});
    snapshot.pending.push_back({.id = {"def456"},
                                .spec = small_spec(ring(4)),
                                .waiting_since = {500'000},
                                .excluded = {{{"n1"}, 1}},
                                .waits = {"it failed", "a retry", ReasonKind::files}});
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
    EXPECT_EQ(again.max_bypass, Seconds{90});
    ASSERT_EQ(again.pending.size(), 2u);
    EXPECT_EQ(again.pending[1].spec, snapshot.pending[1].spec);
    EXPECT_EQ(again.pending[1].waiting_since, snapshot.pending[1].waiting_since);
    EXPECT_EQ(again.pending[1].excluded, snapshot.pending[1].excluded);
    EXPECT_EQ(again.pending[1].waits, snapshot.pending[1].waits);
    ASSERT_EQ(again.devices.size(), 4u);
    EXPECT_EQ(again.devices[3].availability, Availability::busy);
    EXPECT_EQ(again.devices[3].held_by, "job xyz789");
    EXPECT_EQ(pack(again), pack(snapshot));
    const std::string decisions = pack(plan_jobs(snapshot));
    EXPECT_EQ(pack(unpack_decisions(decisions).value()), decisions);
}

TEST(PlanningMessages, CarryFilesUnchanged) {
    PlanningSnapshot snapshot = snapshot_of_two_jobs();
    snapshot.files = {{.nodes = {{{"n1"}, {"no room", ""}}, {{"n2"}, {"", "models on n2"}}},
                       .reasons = {{"n1 has no room", "free some", ReasonKind::files}},
                       .waits = {"n3 is asked"}}};
    snapshot.pending[1].files = 0;
    const PlanningSnapshot again = unpack_snapshot(pack(snapshot)).value();
    EXPECT_EQ(again.pending[0].files, -1);
    EXPECT_EQ(again.pending[1].files, 0);
    ASSERT_EQ(again.files.size(), 1u);
    const PlanningFiles& files = again.files.front();
    EXPECT_EQ(files.reasons, snapshot.files.front().reasons);
    EXPECT_EQ(files.waits, snapshot.files.front().waits);
    ASSERT_EQ(files.nodes.size(), 2u);
    EXPECT_EQ(files.nodes.at({"n1"}).against, "no room");
    EXPECT_EQ(files.nodes.at({"n1"}).place, "");
    EXPECT_EQ(files.nodes.at({"n2"}).place, "models on n2");
    snapshot.pending[1].files = 1;
    EXPECT_THAT(unpack_snapshot(pack(snapshot)).error().message, HasSubstr("files of number 1"));
}

TEST(PlanningMessages, OfOtherBytesAreAnError) {
    EXPECT_EQ(unpack_snapshot("\xff\xff").error().code, ErrorCode::data_loss);
    EXPECT_EQ(unpack_decisions("\xff\xff").error().code, ErrorCode::data_loss);
}

TEST(PlanningChild, DecidesAsThePlannerInThisProcess) {
    const PlanningSnapshot snapshot = snapshot_of_two_jobs();
    const auto decisions = plan_in_child(the_controller(), snapshot);
    ASSERT_TRUE(decisions) << decisions.error().message;
    EXPECT_EQ(pack(*decisions), pack(plan_jobs(snapshot)));
    EXPECT_TRUE(std::holds_alternative<Plan>(decisions->front().decision));
}

// Two racks of two nodes, registered alternately, with a slow cable between them.
PlanningSnapshot snapshot_with_links() {
    PlanningSnapshot snapshot{.version = 7, .now = {1'000'000}};
    const std::vector<NodeId> nodes = {{"a1"}, {"b1"}, {"a2"}, {"b2"}};
    for (const NodeId& node : nodes)
        snapshot.devices.push_back({.id = {node, 0}, .kind = "cpu", .build = "build-1"});
    snapshot.links = uniform_graph(nodes, 1, {{10}, {4}, {1e-4}}, {{80}, {}, {}});
    snapshot.links.interiors[0].bridges = {{"p0", {0}, {90}, {}}};
    snapshot.links.nodes[2].egress = {9};
    snapshot.links.trunks = {{"out", {0, 2}, {}, {1}}, {"in", {}, {0, 2}, {1}}};
    snapshot.pending.push_back({.id = {"abc123"}, .spec = small_spec(ring(4))});
    return snapshot;
}

std::string nodes_of(const PlanDecision& decision) {
    std::string text;
    for (const DeviceId& device : std::get<Plan>(decision.decision).placement)
        text += device.node.value + " ";
    return text;
}

TEST(PlanningMessages, CarryLinksUnchanged) {
    const PlanningSnapshot snapshot = snapshot_with_links();
    EXPECT_EQ(unpack_snapshot(pack(snapshot))->links, snapshot.links);
    PlanningSnapshot broken = snapshot;
    broken.links.network.pop_back();
    EXPECT_THAT(unpack_snapshot(pack(broken)).error().message,
                HasSubstr("the network has 15 links; 4 nodes need 16"));
}

TEST(PlanJobsByLinks, PutsARingOnTheRacksInTurn) {
    PlanningSnapshot snapshot = snapshot_with_links();
    PlanningSnapshot unmeasured = snapshot;
    unmeasured.links = {};
    EXPECT_EQ(nodes_of(plan_jobs(unmeasured)[0]), "a1 b1 a2 b2 ");
    const std::string placed = nodes_of(plan_jobs(snapshot)[0]);
    // The two of a rack are neighbours on the ring.
    const std::string doubled = placed + placed;
    EXPECT_TRUE(doubled.find("a1 a2") != std::string::npos ||
                doubled.find("a2 a1") != std::string::npos)
        << placed;
    const auto in_child = plan_in_child(the_controller(), snapshot);
    ASSERT_TRUE(in_child) << in_child.error().message;
    EXPECT_EQ(nodes_of((*in_child)[0]), placed);
}

TEST(PlanJobsByLinks, LeavesADegradedLinkAndTakesOnlyFreeDevices) {
    PlanningSnapshot snapshot = snapshot_with_links();
    snapshot.pending[0].spec = small_spec(ring(2));
    snapshot.links.between(0, 2).bandwidth = {0.1};
    EXPECT_THAT(nodes_of(plan_jobs(snapshot)[0]), testing::AnyOf("b1 b2 ", "b2 b1 "));
    snapshot.devices[1].availability = Availability::busy;
    EXPECT_THAT(nodes_of(plan_jobs(snapshot)[0]),
                testing::AllOf(HasSubstr("b2"), testing::Not(HasSubstr("b1"))));
}

TEST(PlanJobsByLinks, FallsBackToOrderOfRegistrationWhereTooLittleIsMeasured) {
    PlanningSnapshot snapshot = snapshot_with_links();
    snapshot.links = uniform_graph({{"a1"}, {"b2"}}, 1, {{10}, {}, {}}, {{10}, {}, {}});
    EXPECT_EQ(nodes_of(plan_jobs(snapshot)[0]), "a1 b1 a2 b2 ");
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

TEST(PlanningChild, ThatSearchesTooLongIsAskedAgainWithoutASearch) {
    const TempDir directory;
    const std::string mark = directory.file("asked");
    const std::string script =
        format("if [ -e {} ]; then exec {} {} \"$0\"; fi; touch {}; sleep 60", mark, RM_CONTROLLER,
               kPlanVerb, mark);
    const Planner planner = make_planner(shell(script), {.timeout = Seconds{3}});
    EXPECT_EQ(planner(snapshot_of_two_jobs()).size(), 2u);
    std::filesystem::remove(mark);
    PlanningSnapshot asked = snapshot_of_two_jobs();
    asked.advise = true;
    EXPECT_ANY_THROW(planner(asked)) << "advice is that of a search or none";
}

PlanningSnapshot snapshot_of_a_plan() {
    PlanningSnapshot snapshot = snapshot_of_two_jobs();
    snapshot.pending.pop_back();
    snapshot.recorded = std::get<Plan>(plan_jobs(snapshot)[0].decision);
    return snapshot;
}

TEST(PlanningChild, DetailsAPlanAsThisProcessDoes) {
    const PlanningSnapshot snapshot = snapshot_of_a_plan();
    EXPECT_EQ(unpack_snapshot(pack(snapshot))->recorded, snapshot.recorded);
    const auto in_child = make_detailer(the_controller())(snapshot);
    ASSERT_TRUE(in_child) << in_child.error().message;
    EXPECT_EQ(in_child->against(), "");
    EXPECT_GT(in_child->step().length(), 0);
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
        *in_child, make_detailer({})(snapshot).value()));
    EXPECT_THAT(make_detailer(shell("exit 9"))(snapshot).error().message, HasSubstr("code 9"));
    EXPECT_THAT(make_detailer(shell("true"))(snapshot).error().message, HasSubstr("no detail"));
}

TEST(PlanningChild, ThatSearchesTooLongIsAskedForTheStepAlone) {
    const TempDir directory;
    const std::string mark = directory.file("asked");
    const std::string script =
        format("if [ -e {} ]; then exec {} {} \"$0\"; fi; touch {}; sleep 60", mark, RM_CONTROLLER,
               kPlanVerb, mark);
    const auto detail = make_detailer(shell(script), {.timeout = Seconds{3}})(snapshot_of_a_plan());
    ASSERT_TRUE(detail) << detail.error().message;
    EXPECT_GT(detail->step().length(), 0);
    EXPECT_EQ(detail->ranking().reasons(0), "the search took too long");
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
