#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

JobSpec prioritized(int priority, int devices, const std::string& kind = "") {
    JobSpec spec = small_spec(ring(devices));
    spec.priority = priority;
    if (kind == "L40S") spec.precision = "bf16";
    spec.resources.kind = kind;
    return spec;
}

// Two nodes with one CPU slot each, and one node with a GPU.
struct Queue : World {
    Queue() {
        hello("a", 1);
        hello("b", 1);
        Hello gpu = hello_of("g", 1);
        gpu.inventory.devices[0].kind = "L40S";
        apply(NodeHello{gpu});
    }
    std::map<JobId, std::variant<Plan, Reasons>> decide() const {
        std::map<JobId, std::variant<Plan, Reasons>> decisions;
        for (PlanDecision& decision : plan_jobs(planning_snapshot(state, now)))
            decisions[decision.job] = std::move(decision.decision);
        return decisions;
    }
    bool starts(const JobId& job) const { return std::holds_alternative<Plan>(decide().at(job)); }
    std::string reason_now(const JobId& job) const { return texts_of(decide().at(job)).front(); }
};

TEST(Queue, TheHigherPriorityIsServedFirstAndAmongEqualsTheOlder) {
    Queue world;
    const JobId low = world.submit(prioritized(0, 2, "cpu"));
    const JobId old = world.submit(prioritized(5, 2, "cpu"));
    const JobId young = world.submit(prioritized(5, 2, "cpu"));
    EXPECT_TRUE(world.starts(old));
    EXPECT_NE(world.reason_now(young).find("2 busy with job " + old.value), std::string::npos);
    EXPECT_FALSE(world.starts(low));
}

TEST(Queue, ALowerPriorityPassesAJobThatDoesNotFitForAnHourAtMost) {
    Queue world;
    world.plan(world.submit(prioritized(0, 1, "cpu")), {"a"});
    const JobId high = world.submit(prioritized(9, 2, "cpu"));
    const JobId low = world.submit(prioritized(0, 1, "cpu"));
    EXPECT_TRUE(world.starts(low));
    world.now = world.now + Seconds{3601};
    EXPECT_EQ(world.reason_now(low), "cpu devices are kept for job " + high.value +
                                         ", which has waited 1h00m; fits after it");
}

TEST(Queue, HowLongAJobMayBePassedIsTheControllers) {
    Queue world;
    world.state.max_bypass = Seconds{30};
    world.plan(world.submit(prioritized(0, 1, "cpu")), {"a"});
    world.submit(prioritized(0, 2, "cpu"));
    const JobId low = world.submit(prioritized(0, 1, "cpu"));
    world.now = world.now + Seconds{29};
    EXPECT_TRUE(world.starts(low));
    world.now = world.now + Seconds{2};
    EXPECT_FALSE(world.starts(low));
}

TEST(Queue, ALowerPriorityThatHasWaitedKeepsNothingFromAHigherOne) {
    Queue world;
    world.plan(world.submit(prioritized(0, 1, "cpu")), {"a"});
    world.submit(prioritized(0, 2, "cpu"));
    world.now = world.now + Seconds{3601};
    const JobId high = world.submit(prioritized(1, 1, "cpu"));
    EXPECT_TRUE(world.starts(high));
}

TEST(Queue, OnlyTheKindThatAJobCouldUseIsKeptForIt) {
    Queue world;
    world.plan(world.submit(prioritized(0, 1, "cpu")), {"a"});
    world.submit(prioritized(0, 2, "cpu"));
    const JobId cpu = world.submit(prioritized(0, 1, "cpu"));
    const JobId gpu = world.submit(prioritized(0, 1, "L40S"));
    world.now = world.now + Seconds{3601};
    EXPECT_FALSE(world.starts(cpu));
    EXPECT_TRUE(world.starts(gpu));
}

TEST(Queue, NothingIsKeptForAJobThatWaitsForADrainedNode) {
    Queue world;
    world.apply(DrainNode{{"a"}, "broken fan"});
    world.submit(prioritized(0, 2, "cpu"));
    const JobId small = world.submit(prioritized(0, 1, "cpu"));
    world.now = world.now + Seconds{3601};
    EXPECT_TRUE(world.starts(small));
}

TEST(Queue, AJobWaitsSinceTheEndOfItsLastAttempt) {
    Queue world;
    JobSpec spec = prioritized(0, 1, "cpu");
    spec.retry.max = 1;
    const JobId id = world.submit(spec);
    world.plan(id, {"a"});
    world.now = world.now + Seconds{7200};
    world.status("a", status_of(world.epoch_of(id), id, {ended(0, 1, "words")}, Left::no));
    const PlanningSnapshot snapshot = planning_snapshot(world.state, world.now);
    EXPECT_EQ(snapshot.pending.at(0).waiting_since, world.attempt(id).ended);
}

TEST(Queue, EveryPassRenewsTheReasonsOfAllThatStayPending) {
    Queue world;
    world.submit(prioritized(0, 4, "cpu"));
    world.submit(prioritized(0, 1, "H100"));
    world.hello("c", 1);
    const PlanningSnapshot snapshot = planning_snapshot(world.state, world.now);
    for (PlanDecision& decision : plan_jobs(snapshot))
        world.apply(PlanReady{decision.job, snapshot.version, std::move(decision.decision)});
    ASSERT_EQ(world.state.reasoned.size(), 2u);
    for (const auto& [job, version] : world.state.reasoned)
        EXPECT_EQ(version, snapshot.version) << job;
}

}  // namespace
}  // namespace rm::test
