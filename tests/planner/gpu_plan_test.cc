// Plans for fleets of GPUs: fitness, networks, and what a device cannot compute.
#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

JobSpec gpu_spec(std::optional<Mesh> parallel = std::nullopt) {
    JobSpec spec = small_spec(parallel);
    spec.precision = "bf16";
    return spec;
}

struct GpuWorld : World {
    void join(const std::string& node, int num_gpus, const std::string& nccl = "2.28.3",
              const std::string& kind = "L40S") {
        Hello hello = hello_of(node, num_gpus);
        for (DeviceInfo& device : hello.inventory.devices)
            device.kind = kind;
        hello.inventory.software.nccl = nccl;
        apply(NodeHello{hello});
    }
    void set_unfit(const std::string& node, int device, const std::string& why) {
        apply(NodeDevices{{node}, {{{device, why}}}});
    }
    std::variant<Plan, Reasons> decide() const {
        return plan_jobs(planning_snapshot(state, now)).at(0).decision;
    }
    Plan plan() const { return std::get<Plan>(decide()); }
    std::string against() const { return texts_of(decide()).front(); }
    Status check(const JobSpec& spec, const Plan& plan) const {
        Job job;
        job.spec = spec;
        return validate_plan(state, job, plan, now);
    }
};

TEST(GpuPlan, RanksOnGpusWithNcclUseIt) {
    GpuWorld world;
    world.join("a", 2);
    world.join("b", 2);
    world.submit(gpu_spec());
    EXPECT_EQ(world.plan().mesh, ring(4));
    EXPECT_EQ(world.plan().network, NetworkKind::nccl);
    EXPECT_TRUE(world.check(gpu_spec(), world.plan()));
}

TEST(GpuPlan, OneRankNeedsNoNccl) {
    GpuWorld world;
    world.join("a", 1);
    world.submit(gpu_spec());
    EXPECT_EQ(world.plan().network, NetworkKind::gloo);
}

TEST(GpuPlan, WithoutNcclGpusTalkOverGloo) {
    GpuWorld world;
    world.join("a", 2, "");
    world.submit(gpu_spec());
    EXPECT_EQ(world.plan().network, NetworkKind::gloo);
}

TEST(GpuPlan, TheJobMayChoose) {
    GpuWorld world;
    world.join("a", 2);
    JobSpec spec = gpu_spec();
    spec.network = NetworkKind::gloo;
    world.submit(spec);
    EXPECT_EQ(world.plan().network, NetworkKind::gloo);
    Plan other = world.plan();
    other.network = NetworkKind::nccl;
    EXPECT_EQ(world.check(spec, other).error().message,
              "the network is nccl, the job asks for gloo");
}

TEST(GpuPlan, AnAttemptHasOneVersionOfNccl) {
    GpuWorld world;
    world.join("a", 2, "2.28.3");
    world.join("b", 2, "2.27.5");
    world.submit(gpu_spec(ring(4)));
    EXPECT_EQ(world.against(),
              "needs 4 L40S devices, 2 are free of 2; add 2 L40S devices or ask "
              "for at most 2");
}

TEST(GpuPlan, EmulatedGpusUseNcclOnlyIfTheJobAsks) {
    GpuWorld world;
    world.join("a", 2, "2.28.3", "emu");
    JobSpec spec = gpu_spec();
    world.submit(spec);
    EXPECT_EQ(world.plan().network, NetworkKind::gloo);
    spec.network = NetworkKind::nccl;
    world.submit(spec);
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    EXPECT_EQ(std::get<Plan>(decisions[0].decision).network, NetworkKind::gloo);
    GpuWorld second;
    second.join("a", 2, "2.28.3", "emu");
    second.submit(spec);
    EXPECT_EQ(second.plan().network, NetworkKind::nccl);
}

TEST(GpuPlan, AJobForNcclSaysWhoLacksIt) {
    GpuWorld world;
    world.join("a", 2, "");
    JobSpec spec = gpu_spec();
    spec.network = NetworkKind::nccl;
    world.submit(spec);
    EXPECT_EQ(world.against(),
              "network: nccl needs GPUs on nodes with NCCL (libnccl.so.2); the cluster has 2 L40S, "
              "none with it; install it there and restart their workers, or use network: auto");
}

TEST(GpuPlan, UnfitGpusAreNotPlacedUntilTheyAreFit) {
    GpuWorld world;
    world.join("a", 3);
    const JobId job = world.submit(gpu_spec(ring(3)));
    const Plan before = world.plan();
    world.set_unfit("a", 1, "Xid 79: it has fallen off the bus; reset it or restart the machine");
    EXPECT_EQ(world.against(),
              "needs 3 L40S devices, 2 are free of 3 (1 unfit (Xid 79: it has fallen off the bus; "
              "reset it or restart the machine)); add 1 L40S device or ask for at most 2");
    EXPECT_EQ(world.check(gpu_spec(ring(3)), before).error().message,
              "device a:1 is unfit: Xid 79: it has fallen off the bus; reset it or restart the "
              "machine");
    const std::uint64_t version = world.state.planning_version;
    world.set_unfit("a", 1, "Xid 79: it has fallen off the bus; reset it or restart the machine");
    EXPECT_EQ(world.state.planning_version, version) << "no news";
    world.set_unfit("a", 1, "");
    EXPECT_EQ(world.plan().placement, before.placement);
    EXPECT_EQ(world.job(job).state, JobState::pending);
}

TEST(GpuPlan, AutoLeavesUnfitGpusOut) {
    GpuWorld world;
    world.join("a", 3);
    world.set_unfit("a", 0, "busy: 12.3 GiB by pid 4242 (python)");
    world.submit(gpu_spec());
    EXPECT_EQ(world.plan().placement, (std::vector<DeviceId>{{{"a"}, 1}, {{"a"}, 2}}));
}

TEST(GpuPlan, AJobInFp32LooksForCpuSlots) {
    GpuWorld world;
    world.join("a", 2);
    world.submit(small_spec());
    EXPECT_EQ(world.against(),
              "precision: fp32; L40S devices compute in bf16 and fp8, cpu in all; the "
              "cluster has 2 L40S");
    world.hello("b", 1);
    EXPECT_EQ(world.plan().placement, (std::vector<DeviceId>{{{"b"}, 0}}));
}

TEST(GpuPlan, AKindThatCannotComputeTheJobIsRefusedWithItsKey) {
    JobSpec spec = small_spec();
    spec.resources.kind = "L40S";
    EXPECT_EQ(validate(spec).error().message,
              "precision: fp32; L40S devices compute in bf16 and fp8, cpu in all");
    spec.precision = "bf16";
    EXPECT_TRUE(validate(spec));
    spec.resources.kind = "cpu";
    spec.network = NetworkKind::nccl;
    EXPECT_EQ(validate(spec).error().message,
              "network: nccl is between GPUs; resources.kind is cpu");
}

}  // namespace
}  // namespace rm::test
