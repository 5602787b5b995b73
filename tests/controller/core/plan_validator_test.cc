#include "controller/core/jobs/make_snapshot.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

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
    memory.keep_every = 2;
    EXPECT_EQ(world.error(), "") << "left to the plan";
    asked.keep_every = 1;
    EXPECT_EQ(world.error(), "inputs are kept every 2, the job asks for 1");
    memory.keep_every = 1;
    memory.keep_precision = KeptPrecision::fp8;
    EXPECT_EQ(world.error(), "the precision of what is kept is fp8, the job asks for compute");
    memory.keep_precision = KeptPrecision::compute;
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
TEST(PlanValidator, TakesWindowsOnARingUnlessTheJobDoesNot) {
    Validated world;
    world.plan.memory.kept = KeptPlace::host;
    world.plan.memory.working = WorkingSet::windows;
    EXPECT_EQ(world.error(), "");
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
    world.spec.precision = "bf16";
    world.spec.resources.kind = "L40S";
    EXPECT_EQ(world.error(), "the devices are cpu, the job asks for L40S");
}

}  // namespace
}  // namespace rm::test
