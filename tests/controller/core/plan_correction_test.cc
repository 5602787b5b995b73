#include "controller/core/jobs/plan_correction.h"

#include "controller/core/jobs/make_snapshot.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

// Nodes of one CPU slot whose speeds were measured, and jobs that were planned by them.
struct Measured : World {
    Measured() { measure(1e11); }

    void measure(double flops) {
        Hello hello = hello_of("a", 1);
        hello.inventory.cpu_model = "EPYC";
        hello.inventory.devices[0].num_threads = 1;
        for (const Precision precision : {Precision::bf16, Precision::fp32}) {
            const std::string driver = profile_driver(hello.inventory, "cpu", precision);
            hello.profiles.push_back({"cpu", driver, "b1", flops, format("speeds {}", flops)});
        }
        apply(NodeHello{hello});
    }
    // A run whose step was planned to take `planned` and took `measured` seconds.
    void run(double planned, double measured, const std::string& precision = "fp32",
             double correction = 0) {
        JobSpec spec = small_spec();
        spec.precision = precision;
        const JobId id = submit(spec);
        Plan plan{.mesh = ring(1), .placement = {{{"a"}, 0}}, .memory = resolve_memory({})};
        plan.predicted = {.step = {planned}, .all = {10 * planned}, .correction = correction};
        apply(PlanReady{id, state.planning_version, plan});
        apply(StepMeasured{epoch_of(id), {measured}});
        EXPECT_EQ(attempt(id).measured_step, Seconds{measured});
        status("a", status_of(epoch_of(id), id, {ended(0, kRankFinished)}, Left::no));
    }
    MeasuredSpeeds speeds() {
        submit(small_spec());
        const PlanningSnapshot snapshot = planning_snapshot(state, now);
        return snapshot.profiles.at(usize(snapshot.devices.at(0).profile));
    }
    double correction() { return speeds().fp32_correction; }
};

TEST(PlanCorrection, IsTheMedianOfRunsThatAllTookLonger) {
    Measured world;
    world.run(1, 1.1);
    world.run(2, 2.4);
    EXPECT_EQ(world.correction(), 0) << "two runs are no rule";
    world.run(1, 1.15);
    EXPECT_DOUBLE_EQ(world.correction(), 1.15);
    EXPECT_EQ(world.speeds().bf16_correction, 0) << "their speeds are others";
    EXPECT_EQ(world.folded, flatten_tables(world.state));
}

TEST(PlanCorrection, IsBelowOneWhereAllTookShorter) {
    Measured world;
    for (const double took : {0.9, 0.8, 0.85})
        world.run(1, took);
    EXPECT_DOUBLE_EQ(world.correction(), 0.85);
}

TEST(PlanCorrection, IsNoneWhereRunsDisagreeOrAreAsPlanned) {
    Measured world;
    for (const double took : {1.1, 0.9, 1.1})
        world.run(1, took);
    EXPECT_EQ(world.correction(), 0);
    Measured exact;
    for (const double took : {1.02, 1.1, 1.1})
        exact.run(1, took);
    EXPECT_EQ(exact.correction(), 0) << "one is within 3 %";
}

// Plans that are right thanks to a correction must not undo it.
TEST(PlanCorrection, CountsFromTheBareProfile) {
    Measured world;
    for (int i = 0; i < kMostRuns; ++i)
        world.run(1.2, 1.2, "fp32", 1.2);
    EXPECT_DOUBLE_EQ(world.correction(), 1.2);
    for (int i = 0; i < kMostRuns; ++i)
        world.run(1.2, 1.0, "fp32", 1.2);
    EXPECT_EQ(world.correction(), 0) << "the newest runs take what the profile says";
}

TEST(PlanCorrection, LeavesOutRunsThatMeasuredAnotherThing) {
    Measured world;
    for (const double took : {1.1, 30.0, 1.2, 0.01, 1.3})
        world.run(1, took);
    EXPECT_DOUBLE_EQ(world.correction(), 1.2);
}

TEST(PlanCorrection, BeginsAnewWithANewMeasurement) {
    Measured world;
    for (int i = 0; i < 3; ++i)
        world.run(1, 1.2);
    EXPECT_DOUBLE_EQ(world.correction(), 1.2);
    world.measure(9e10);
    EXPECT_EQ(world.correction(), 0);
}

}  // namespace
}  // namespace rm::test
