#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

// The devices of a node that was dead but not declared gone counted as devices that may become
// free: an 8-device job that waited for them kept seven idle devices from all younger jobs.
namespace rm::test {
namespace {

std::variant<Plan, Reasons> decide(const World& world, const JobId& id) {
    for (PlanDecision& decision : plan_jobs(planning_snapshot(world.state, world.now))) {
        if (decision.job == id) return decision.decision;
    }
    return {};
}

TEST(Regress0023, ADeadNodeFreezesNoQueue) {
    World world;
    for (int i = 0; i < 8; ++i)
        world.hello(format("n{}", i), 1);
    const JobId wide = world.submit(small_spec(ring(8)));
    world.session_down("n7");
    const JobId narrow = world.submit(small_spec(ring(1)));
    EXPECT_EQ(texts_of(decide(world, wide)).front(),
              "needs 8 cpu devices, 7 are free of 8 (1 on workers without a session); fits when 1 "
              "more is free");
    world.wait({61});
    world.apply(NodeUnreachable{{"n7"}});
    world.now = world.now + Seconds{3600};
    EXPECT_EQ(texts_of(decide(world, wide)).front(),
              "needs 8 cpu devices, 7 are free of 8 (1 on workers without a session); add 1 cpu "
              "device or ask for at most 7");
    EXPECT_TRUE(std::holds_alternative<Plan>(decide(world, narrow)));
}

TEST(Regress0023, WhatIsKeptForAnOverdueJobIsOfOneKind) {
    World world;
    for (const char* node : {"a", "b"})
        world.hello(node, 1);
    for (const char* node : {"g", "h", "i"}) {
        Hello hello = hello_of(node, 1);
        hello.inventory.devices[0].kind = "L40S";
        world.apply(NodeHello{hello});
    }
    JobSpec one = small_spec(ring(1));
    one.resources.kind = "cpu";
    world.plan(world.submit(one), {"a"});
    JobSpec gpu = one;
    gpu.resources.kind = "L40S";
    gpu.precision = "bf16";
    world.plan(world.submit(gpu), {"g"});
    JobSpec of_any_kind = small_spec(ring(3));  // 2 of 3 GPUs are free
    of_any_kind.precision = "bf16";
    const JobId overdue = world.submit(of_any_kind);
    const JobId on_cpu = world.submit(one);
    const JobId on_gpu = world.submit(gpu);
    world.now = world.now + Seconds{3601};
    EXPECT_TRUE(std::holds_alternative<Plan>(decide(world, on_cpu))) << overdue;
    EXPECT_FALSE(std::holds_alternative<Plan>(decide(world, on_gpu)));
}

}  // namespace
}  // namespace rm::test
