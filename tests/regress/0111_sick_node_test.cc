// A rank that its node could not run (a program that did not begin, no room for its files, no
// threads) counted as a failing rank: the retries went to the same node until none were left.
#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

RankStatus not_run(int rank, int code) {
    return {.rank = rank, .exited = true, .exit_code = code, .error = "no space left on device"};
}

struct Fleet : World {
    Fleet() {
        for (const char* node : {"sick", "well", "fine"})
            hello(node, 1);
    }
    JobId begin(const std::vector<std::string>& nodes) {
        const JobId id = submit(retried_spec(3, ring(static_cast<int>(nodes.size()))));
        plan(id, nodes);
        return id;
    }
    Outcome report(const JobId& id, const std::string& node, RankStatus rank, Left left) {
        return status(node, status_of(epoch_of(id), id, {std::move(rank)}, left));
    }
    std::set<NodeId> next_nodes(const JobId& id) {
        wait({2});
        std::set<NodeId> nodes;
        for (PlanDecision& decision : plan_jobs(planning_snapshot(state, now))) {
            if (decision.job != id) continue;
            for (const DeviceId& device : std::get<Plan>(decision.decision).placement)
                nodes.insert(device.node);
        }
        return nodes;
    }
};

TEST(Regress0111, AJobWhoseRankCouldNotRunOnANodeGoesToAnother) {
    for (const int code : {kRankNodeFault, kRankNotStarted}) {
        Fleet world;
        const JobId id = world.begin({"sick"});
        world.report(id, "sick", not_run(0, code), Left::no);
        EXPECT_EQ(world.attempt(id).failure_class, FailureClass::launch);
        EXPECT_EQ(world.attempt(id).cause,
                  "node sick could not run its rank 0: no space left on device");
        EXPECT_EQ(world.job(id).state, JobState::pending);
        EXPECT_EQ(world.next_nodes(id), (std::set<NodeId>{{"well"}}));
    }
}

TEST(Regress0111, AlsoWhereARankThatLostItSpokeFirst) {
    Fleet world;
    const JobId id = world.begin({"well", "sick"});
    world.report(id, "well", ended(0, kRankLostPeer, "rank 1 is gone"), Left::no);
    world.report(id, "sick", not_run(1, kRankNodeFault), Left::no);
    EXPECT_EQ(world.attempt(id).failure_class, FailureClass::launch);
    EXPECT_EQ(world.next_nodes(id), (std::set<NodeId>{{"fine"}, {"well"}}));
}

TEST(Regress0111, TwoJobsInARowTakeTheNodeOutOfServiceWhateverRunsBesideThem) {
    World world;
    world.hello("sick", 2);
    world.hello("well", 2);
    const auto fails = [&] {
        const JobId id = world.submit(retried_spec(3, ring(2)));
        world.apply(PlanReady{id, world.state.planning_version,
                              Plan{.mesh = ring(2), .placement = {{{"sick"}, 0}, {{"sick"}, 1}}}});
        const Epoch epoch = world.epoch_of(id);
        world.status("sick",
                     status_of(epoch, id, {training(0), not_run(1, kRankNotStarted)}, Left::yes));
        world.status("sick", status_of(epoch, id, {not_run(1, kRankNotStarted)}, Left::no));
    };
    fails();
    EXPECT_TRUE(world.state.nodes.at({"sick"}).drained.empty());
    fails();
    EXPECT_NE(world.state.nodes.at({"sick"}).drained.find("no space left on device"),
              std::string::npos);
}

TEST(Regress0111, ACancelledJobSaysNothingAgainstTheNode) {
    Fleet world;
    const JobId id = world.begin({"sick"});
    world.apply(CancelJob{id}, 7);
    world.report(id, "sick", not_run(0, kRankNotStarted), Left::no);
    EXPECT_EQ(world.job(id).state, JobState::cancelled);
    EXPECT_TRUE(world.state.failed_launches.empty());
}

}  // namespace
}  // namespace rm::test
