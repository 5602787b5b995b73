#include "controller/core/plan_validator.h"
#include "controller/plan_trivial.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

std::vector<PlanDecision> plan_now(const World& world) {
    return plan_trivially(planning_snapshot(world.state, world.now));
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

TEST(TrivialPlan, AutoIsOneRingOverAllFreeDevicesInOrderOfRegistration) {
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

TEST(TrivialPlan, AShortContextGetsAShorterRing) {
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

TEST(TrivialPlan, AJobThatNamesItsDevicesGetsThemInItsOrder) {
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

TEST(TrivialPlan, AJobThatNamesItsDevicesWaitsForThemAndSaysForWhom) {
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

TEST(TrivialPlan, DevicesThatAreNamedAndNotThereAreSaidToBe) {
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

TEST(TrivialPlan, NamedDevicesAreKeptForAJobThatHasWaitedTooLong) {
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

TEST(TrivialPlan, DevicesThatDoNotFitOneRingGoToData) {
    JobSpec spec = small_spec();
    spec.stages[0].context = 192;  // pads to 192 on a ring of 2, to 256 on a ring of 4
    spec.stages[0].batch = 192 * 2;
    EXPECT_EQ(auto_mesh(spec, 4).value(), Mesh::make(2, 2, 1, 1).value());
}

TEST(TrivialPlan, AMeshAndAZeroStageAreTakenAsGiven) {
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

TEST(TrivialPlan, AnAutomaticMeshKeepsTheZeroStage) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.zero = 2;
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.mesh, ring(4));
    EXPECT_EQ(plan.zero, 2);
}

TEST(TrivialPlan, TheMemoryOfAJobIsThePlans) {
    FourNodes world;
    JobSpec spec = small_spec(ring(2));
    spec.memory = {.tile = 64, .keep = Keep::input, .alpha = 0.5, .offload = Switch::on};
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.memory, resolve_memory(spec.memory));
    EXPECT_TRUE(validate(world, spec, plan));
}

TEST(TrivialPlan, WindowsLeaveAnAutomaticMeshWithoutARing) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.stages[0].batch = 4 * spec.stages[0].context;
    spec.memory.windows = Switch::on;
    world.submit(spec);
    const Plan plan = plan_of(plan_now(world)[0]);
    EXPECT_EQ(plan.mesh, Mesh::make(4, 1, 1, 1).value());
    EXPECT_TRUE(validate(world, spec, plan));
}

TEST(TrivialPlan, NamesWhoHoldsTheDevices) {
    FourNodes world;
    const JobId first = world.submit(small_spec(ring(1)));
    world.plan(first, {"d"});
    world.submit(small_spec(ring(4)));
    EXPECT_EQ(reason_of(plan_now(world)[0]),
              "needs 4 cpu devices, 3 are free of 4 (1 busy with job " + first.value +
                  "); fits when 1 more is free");
}

TEST(TrivialPlan, SaysHowManyDevicesAreMissing) {
    FourNodes world;
    world.submit(small_spec(ring(6)));
    EXPECT_EQ(reason_of(plan_now(world)[0]),
              "needs 6 cpu devices, 4 are free of 4; add 2 cpu devices or ask for at most 4");
}

TEST(TrivialPlan, WithoutAWorkerSaysHowToStartOne) {
    World world;
    world.submit(small_spec());
    EXPECT_NE(reason_of(plan_now(world)[0]).find("no worker has joined"), std::string::npos);
}

TEST(TrivialPlan, AMissingKindIsNamed) {
    FourNodes world;
    JobSpec spec = small_spec();
    spec.resources.kind = "L40S";
    world.submit(spec);
    EXPECT_EQ(
        reason_of(plan_now(world)[0]),
        "needs devices of kind 'L40S', the cluster has 4 cpu; add one or change resources.kind");
}

TEST(TrivialPlan, DevicesOfOtherBuildsAreNotMixed) {
    World world;
    world.hello("a", 1);
    Hello other = hello_of("b", 1);
    other.build = "build-2";
    world.apply(NodeHello{other});
    world.submit(small_spec(ring(2)));
    EXPECT_NE(reason_of(plan_now(world)[0]).find("needs 2 cpu devices, 1 is free of 1"),
              std::string::npos);
}

TEST(TrivialPlan, TwoJobsOfOnePassShareNoDevice) {
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

TEST(TrivialPlan, ALaterJobPassesUntilTheFirstHasWaitedAnHour) {
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

TEST(TrivialPlan, AJobTheClusterCannotHoldKeepsNothing) {
    FourNodes world;
    world.submit(small_spec(ring(6)));
    world.submit(small_spec(ring(1)));
    world.now.micros += 3601LL * 1'000'000;
    EXPECT_TRUE(std::holds_alternative<Plan>(plan_now(world)[1].decision));
}

struct Validated : FourNodes {
    JobSpec spec = small_spec(ring(2));
    Plan plan{.mesh = ring(2), .placement = {{{"a"}, 0}, {{"b"}, 0}}};
    std::string error() const {
        const Status status = validate(*this, spec, plan);
        return status ? "" : status.error().message;
    }
};

TEST(PlanValidator, AcceptsAGoodPlan) {
    EXPECT_EQ(Validated().error(), "");
}
TEST(PlanValidator, RejectsADevicePlacedTwice) {
    Validated world;
    world.plan.placement[1] = world.plan.placement[0];
    EXPECT_EQ(world.error(), "device a:0 is placed twice");
}
TEST(PlanValidator, RejectsDevicesThatDoNotExist) {
    Validated world;
    world.plan.placement[1].index = 7;
    EXPECT_EQ(world.error(), "device b:7 does not exist");
}
TEST(PlanValidator, RejectsAnotherMesh) {
    Validated world;
    world.plan.mesh = ring(1);
    EXPECT_EQ(world.error(), "the mesh is one rank, the job asks for ring 2");
}
TEST(PlanValidator, RejectsAnotherZeroStage) {
    Validated world;
    world.plan.zero = 1;
    EXPECT_EQ(world.error(), "the ZeRO stage is 1, the job asks for 0");
}
TEST(PlanValidator, RejectsAChunkThatIsNoMultipleOfTheTile) {
    Validated world;
    world.plan.memory.chunk_tokens = 700;
    EXPECT_EQ(world.error(), "the chunk is 700 tokens; it must be a multiple of the tile 512");
}
TEST(PlanValidator, RejectsMemoryThatTheJobDoesNotAskFor) {
    Validated world;
    MemorySpec& asked = world.spec.memory;
    MemoryPolicy& memory = world.plan.memory;
    memory.prefetch = 2;
    EXPECT_EQ(world.error(), "the prefetch is 2, the job asks for 1");
    memory.prefetch = 1;
    memory.device = Bytes{std::int64_t{1} << 30};
    EXPECT_EQ(world.error(), "the device's limit is 1.0 GiB, the job asks for 0 B");
    memory.device = {};
    asked.keep = Keep::input;
    EXPECT_EQ(world.error(), "what is kept is input+attention, the job asks for input");
    asked.keep.reset();
    asked.alpha = 0.5;
    EXPECT_EQ(world.error(), "alpha is 1, the job asks for 0.5");
    asked.alpha.reset();
    asked.offload = Switch::on;
    EXPECT_EQ(world.error(), "the place of what is kept is the device, the job asks for host");
}
TEST(PlanValidator, LeavesToThePlanWhatTheJobLeavesToIt) {
    Validated world;
    world.plan.memory = {
        .chunk_tokens = 1024, .keep = Keep::input, .alpha = 0.25, .kept = KeptPlace::host};
    EXPECT_EQ(world.error(), "");
    world.plan.memory.alpha = 1.25;
    EXPECT_EQ(world.error(), "memory.alpha: 1.25 must be between 0 and 1, or auto");
}
TEST(PlanValidator, RejectsWindowsOnARing) {
    Validated world;
    world.plan.memory.kept = KeptPlace::host;
    world.plan.memory.working = WorkingSet::windows;
    EXPECT_EQ(world.error(),
              "memory.windows: on needs parallel.ring 1 and parallel.ulysses 1, here they are 2 "
              "and 1; change them or set windows to off");
    world.spec.memory.windows = Switch::off;
    EXPECT_EQ(world.error(), "the working set is windows, the job asks for whole");
}
TEST(PlanValidator, RejectsAPlacementOfAnotherSize) {
    Validated world;
    world.plan.placement.pop_back();
    EXPECT_EQ(world.error(), "1 devices are placed for the 2 ranks of the mesh");
}
TEST(PlanValidator, RejectsAnotherKind) {
    Validated world;
    world.spec.resources.kind = "L40S";
    EXPECT_EQ(world.error(), "the devices are cpu, the job asks for L40S");
}

}  // namespace
}  // namespace rm::test
