#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

// A node with a full disk or without the data failed one job after the other beside idle healthy
// nodes: each of their attempts went to the same node again.
namespace rm::test {
namespace {

struct Fleet : World {
    Fleet() {
        for (const char* node : {"sick", "well", "fine"})
            hello(node, 1);
    }
    Outcome launch_fails(const JobId& id, const std::string& why = "no space left on device") {
        AttemptStatus failed = status_of(epoch_of(id), id, {}, Left::no);
        failed.launch_error = why;
        return status("sick", failed);
    }
    JobId begin_on_sick() {
        const JobId id = submit(retried_spec(3, ring(1)));
        plan(id, {"sick"});
        return id;
    }
    NodeId next_node(const JobId& id) {
        wait({2});
        for (PlanDecision& decision : plan_jobs(planning_snapshot(state, now))) {
            if (decision.job == id) return std::get<Plan>(decision.decision).placement[0].node;
        }
        return {};
    }
};

TEST(Regress0022, AJobWhoseLaunchFailedGoesToAnotherNode) {
    Fleet world;
    const JobId id = world.begin_on_sick();
    world.launch_fails(id);
    EXPECT_EQ(world.job(id).state, JobState::pending);
    EXPECT_EQ(world.next_node(id), NodeId{"well"});
}

TEST(Regress0022, ARefusedLaunchIsAFailedOne) {
    Fleet world;
    const JobId id = world.begin_on_sick();
    world.apply(NodeRefused{{"sick"}, {world.epoch_of(id), "epoch 1 is not newer than 7"}});
    EXPECT_EQ(world.next_node(id), NodeId{"well"});
}

TEST(Regress0022, WithoutAnotherNodeItIsTriedThereAgain) {
    World world;
    world.hello("sick", 1);
    const JobId id = world.submit(retried_spec(3, ring(1)));
    world.plan(id, {"sick"});
    AttemptStatus failed = status_of(world.epoch_of(id), id, {}, Left::no);
    failed.launch_error = "out of threads";
    world.status("sick", failed);
    EXPECT_TRUE(world.job(id).excluded.empty());
    world.wait({2});
    world.plan(id, {"sick"});
    EXPECT_EQ(world.job(id).state, JobState::starting);
}

TEST(Regress0022, TwoJobsInARowTakeTheNodeOutOfService) {
    Fleet world;
    const JobId first = world.begin_on_sick();
    world.launch_fails(first);
    EXPECT_TRUE(world.state.nodes.at({"sick"}).drained.empty());
    const JobId second = world.begin_on_sick();
    world.launch_fails(second);
    const std::string& drained = world.state.nodes.at({"sick"}).drained;
    EXPECT_EQ(drained.rfind("2 launches of different jobs failed in a row; job ", 0), 0u);
    EXPECT_NE(drained.find(second.value + ": no space left on device"), std::string::npos);
    world.apply(ResumeNode{{"sick"}}, 1);
    world.launch_fails(world.begin_on_sick());
    EXPECT_TRUE(world.state.nodes.at({"sick"}).drained.empty()) << "counted anew";
}

TEST(Regress0022, ALaunchThatWorksBetweenThemForgivesTheFirst) {
    Fleet world;
    world.launch_fails(world.begin_on_sick());
    const JobId good = world.begin_on_sick();
    world.status("sick", status_of(world.epoch_of(good), good, {training(0)}, Left::yes));
    world.status("sick", status_of(world.epoch_of(good), good, {ended(0, 0)}, Left::no));
    world.launch_fails(world.begin_on_sick());
    EXPECT_TRUE(world.state.nodes.at({"sick"}).drained.empty());
}

TEST(Regress0022, WhatOneNodeFindsBadIsTriedOnceElsewhere) {
    Fleet world;
    const JobId id = world.begin_on_sick();
    const auto missing = [&](const std::string& node) {
        world.status(node, status_of(world.epoch_of(id), id,
                                     {ended(0, kRankBadFiles, "/data: no such file")}, Left::no));
    };
    missing("sick");
    ASSERT_EQ(world.job(id).state, JobState::pending);
    ASSERT_EQ(world.next_node(id), NodeId{"well"});
    world.plan(id, {"well"});
    missing("well");
    EXPECT_EQ(world.job(id).state, JobState::failed) << "two nodes say so";
    EXPECT_EQ(world.job(id).failure, "rank 0: /data: no such file (attempt 2)");
}

}  // namespace
}  // namespace rm::test
