#include "planner/plan_jobs.h"

#include "controller/core/jobs/make_snapshot.h"
#include "planner/mesh.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

std::vector<PlanDecision> plan_now(const World& world) {
    return plan_jobs(planning_snapshot(world.state, world.now));
}
const Plan& plan_of(const PlanDecision& decision) {
    return std::get<Plan>(decision.decision);
}
std::string reason_of(const PlanDecision& decision) {
    const auto reasons = texts_of(decision.decision);
    RM_CHECK(!reasons.empty(), "a decision without reasons");
    return reasons.front();
}

Status validate(const World& world, const JobSpec& spec, const Plan& plan) {
    Job job;
    job.spec = spec;
    return validate_plan(world.state, job, plan, world.now);
}

struct FourNodes : World {
    FourNodes() {
        for (const char* node : {"d", "a", "c", "b"})
            hello(node, 1);
    }
};

TEST(PlanJobs, AutoIsOneRingOverAllFreeDevicesInOrderOfRegistration) {
    FourNodes world;
    world.submit(small_spec());
    const auto decisions = plan_now(world);
    ASSERT_EQ(decisions.size(), 1u);
    const Plan& plan = plan_of(decisions[0]);
    EXPECT_EQ(plan.mesh, ring(4));
    EXPECT_EQ(plan.placement,
              (std::vector<DeviceId>{{{"d"}, 0}, {{"a"}, 0}, {{"c"}, 0}, {{"b"}, 0}}));
    EXPECT_EQ(plan.memory.chunk_tokens, 4096);
    EXPECT_EQ(plan.collective_timeout, Seconds{60});
    EXPECT_TRUE(validate(world, small_spec(), plan));
}

TEST(PlanJobs, AShortContextGetsAShorterRing) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.stages[0].context = 96;  // pads to 96 on a ring of 3, to 128 on a ring of 4
    spec.stages[0].batch = 96;
    world.submit(spec);
    EXPECT_EQ(plan_of(plan_now(world)[0]).mesh, ring(3));
}

JobSpec named_spec(std::vector<DeviceId> devices) {
    JobSpec spec = small_spec();
    spec.resources.placement = std::move(devices);
    return spec;
}

TEST(PlanJobs, AJobThatNamesItsDevicesGetsThemInItsOrder) {
    FourNodes world;
    const JobSpec spec = named_spec({{{"b"}, 0}, {{"d"}, 0}, {{"c"}, 0}});
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.mesh, ring(3));
    EXPECT_EQ(plan.placement, spec.resources.placement);
    EXPECT_TRUE(validate(world, spec, plan));
    Plan other = plan;
    std::swap(other.placement[0], other.placement[1]);
    EXPECT_EQ(validate(world, spec, other).error().message,
              "the devices are not those that resources.placement names");
}

TEST(PlanJobs, AJobThatNamesItsDevicesWaitsForThemAndSaysForWhom) {
    FourNodes world;
    const JobId first = world.submit(named_spec({{{"d"}, 0}, {{"a"}, 0}}));
    world.submit(named_spec({{{"a"}, 0}, {{"c"}, 0}}));
    const auto decisions = plan_now(world);
    EXPECT_EQ(plan_of(decisions[0]).placement.size(), 2u);
    EXPECT_EQ(reason_of(decisions[1]),
              format("resources.placement names 2 devices, 1 is free (1 busy with job {}); fits "
                     "when 1 more is free",
                     first));
}

TEST(PlanJobs, DevicesThatAreNamedAndNotThereAreSaidToBe) {
    FourNodes world;
    world.submit(named_spec({{{"d"}, 0}, {{"a"}, 7}}));
    EXPECT_EQ(reason_of(plan_now(world)[0]),
              "resources.placement names 2 devices, 1 is free, 1 not there; `ringmaster nodes` "
              "lists those that are");
    JobSpec spec = named_spec({{{"d"}, 0}, {{"b"}, 0}});
    spec.resources.kind = "L40S";
    world.submit(spec);
    EXPECT_EQ(reason_of(plan_now(world)[1]),
              "resources.placement names 2 devices, 2 are free, of kind 'cpu'; the job asks for "
              "L40S");
}

TEST(PlanJobs, NamedDevicesAreKeptForAJobThatHasWaitedTooLong) {
    FourNodes world;
    world.plan(world.submit(named_spec({{{"d"}, 0}, {{"a"}, 0}})), {"d", "a"});
    const JobId waits = world.submit(named_spec({{{"a"}, 0}, {{"c"}, 0}}));
    world.now = world.now + kMaxBypass + Seconds{1};
    world.submit(named_spec({{{"c"}, 0}, {{"b"}, 0}}));
    EXPECT_EQ(
        reason_of(plan_now(world)[1]),
        format("resources.placement names 2 devices, 1 is free (1 busy with job {}, for which "
               "they are kept); fits when 1 more is free",
               waits));
}

TEST(PlanJobs, DevicesThatDoNotFitOneRingGoToData) {
    JobSpec spec = small_spec();
    spec.stages[0].context = 192;  // pads to 192 on a ring of 2, to 256 on a ring of 4
    spec.stages[0].batch = 192 * 2;
    EXPECT_EQ(auto_mesh(spec, 4).value(), Mesh::make(2, 2, 1, 1).value());
}

TEST(PlanJobs, AMeshAndAZeroStageAreTakenAsGiven) {
    World world;
    for (const char* node : {"b", "a"})
        world.hello(node, 4);
    JobSpec spec = small_spec(Mesh::make(1, 2, 2, 2).value());
    spec.zero = 3;
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.mesh, *spec.parallel);
    EXPECT_EQ(plan.zero, 3);
    EXPECT_EQ(plan.placement.front(), (DeviceId{{"b"}, 0}));
    EXPECT_EQ(plan.placement[4], (DeviceId{{"a"}, 0})) << "the ring crosses nodes, tensor does not";
    EXPECT_TRUE(validate(world, spec, plan));
}

TEST(PlanJobs, AnAutomaticMeshKeepsTheZeroStage) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.zero = 2;
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.mesh, ring(4));
    EXPECT_EQ(plan.zero, 2);
}

TEST(PlanJobs, TheMemoryOfAJobIsThePlans) {
    FourNodes world;
    JobSpec spec = small_spec(ring(2));
    spec.memory = {.tile = 64, .keep = Keep::input, .alpha = 0.5, .offload = Switch::on};
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.memory, resolve_memory(spec.memory));
    EXPECT_TRUE(validate(world, spec, plan));
}

TEST(PlanJobs, WindowsLeaveAnAutomaticMeshItsRing) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.stages[0].batch = 4 * spec.stages[0].context;
    spec.memory.windows = Switch::on;
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.mesh, Mesh::make(1, 4, 1, 1).value());
    EXPECT_TRUE(validate(world, spec, plan));
}

TEST(PlanJobs, NamesWhoHoldsTheDevices) {
    FourNodes world;
    const JobId first = world.submit(small_spec(ring(1)));
    world.plan(first, {"d"});
    world.submit(small_spec(ring(4)));
    EXPECT_EQ(reason_of(plan_now(world)[0]),
              "needs 4 cpu devices, 3 are free of 4 (1 busy with job " + first.value +
                  "); fits when 1 more is free");
}

TEST(PlanJobs, SaysHowManyDevicesAreMissing) {
    FourNodes world;
    world.submit(small_spec(ring(6)));
    EXPECT_EQ(reason_of(plan_now(world)[0]),
              "needs 6 cpu devices, 4 are free of 4; add 2 cpu devices or ask for at most 4");
}

TEST(PlanJobs, WithoutAWorkerSaysHowToStartOne) {
    World world;
    world.submit(small_spec());
    EXPECT_NE(reason_of(plan_now(world)[0]).find("no worker has joined"), std::string::npos);
}

TEST(PlanJobs, AMissingKindIsNamed) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.resources.kind = "L40S";
    world.submit(spec);
    EXPECT_EQ(
        reason_of(plan_now(world)[0]),
        "needs devices of kind 'L40S', the cluster has 4 cpu; add one or change resources.kind");
}

TEST(PlanJobs, DevicesOfOtherBuildsAreNotMixed) {
    World world;
    world.hello("a", 1);
    Hello other = hello_of("b", 1);
    other.build = "build-2";
    world.apply(NodeHello{other});
    world.submit(small_spec(ring(2)));
    EXPECT_NE(reason_of(plan_now(world)[0]).find("needs 2 cpu devices, 1 is free of 1"),
              std::string::npos);
}

TEST(PlanJobs, TwoJobsOfOnePassShareNoDevice) {
    FourNodes world;
    world.submit(small_spec(ring(2)));
    world.submit(small_spec(ring(2)));
    const auto decisions = plan_now(world);
    std::set<DeviceId> used;
    for (const PlanDecision& decision : decisions) {
        for (const DeviceId& device : plan_of(decision).placement)
            used.insert(device);
    }
    EXPECT_EQ(used.size(), 4u);
}

TEST(PlanJobs, ALaterJobPassesUntilTheFirstHasWaitedAnHour) {
    FourNodes world;
    const JobId running = world.submit(small_spec(ring(1)));
    world.plan(running, {"d"});
    const JobId big = world.submit(small_spec(ring(4)));
    world.submit(small_spec(ring(1)));
    EXPECT_TRUE(std::holds_alternative<Plan>(plan_now(world)[1].decision));
    world.now.micros += 3601LL * 1'000'000;
    EXPECT_NE(reason_of(plan_now(world)[1]).find("devices are kept for job " + big.value),
              std::string::npos);
}

TEST(PlanJobs, AJobTheClusterCannotHoldKeepsNothing) {
    FourNodes world;
    world.submit(small_spec(ring(6)));
    world.submit(small_spec(ring(1)));
    world.now.micros += 3601LL * 1'000'000;
    EXPECT_TRUE(std::holds_alternative<Plan>(plan_now(world)[1].decision));
}

}  // namespace
}  // namespace rm::test
