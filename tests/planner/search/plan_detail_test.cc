#include "planner/search/plan_detail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/plan_jobs.h"
#include "planner/search/choose_shape.h"
#include "tests/planner/search/planned_jobs.h"

// Plans that the scheduler's search has made, in detail.
namespace rm::test {
namespace {

using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Nodes of eight L40S and a job for all of them.
PlanningSnapshot l40s(int nodes, std::int64_t context) {
    PlanningSnapshot snapshot;
    std::vector<NodeId> ids;
    for (int node = 0; node < nodes; ++node) {
        ids.push_back({format("n{}", node)});
        for (int i = 0; i < 8; ++i) {
            PlanningDevice device{.id = {ids.back(), i}, .kind = "L40S", .build = "b", .nccl = "2"};
            device.memory = {45 * kGiB};
            device.host_memory = {130 * kGiB};
            snapshot.devices.push_back(std::move(device));
        }
    }
    snapshot.links = uniform_graph(ids, 8, {.bandwidth = {175}, .flow = {}, .latency = {10e-6}},
                                   {.bandwidth = {176}, .flow = {}, .latency = {10e-6}});
    snapshot.pending.push_back({.id = {"abc123"}, .spec = long_job(context)});
    return snapshot;
}

// Two CPU slots without a profile.
PlanningSnapshot two_cpus() {
    PlanningSnapshot snapshot;
    for (int i = 0; i < 2; ++i) {
        PlanningDevice device{.id = {{"a"}, i}, .kind = "cpu", .build = "b"};
        device.memory = {8 * kGiB};
        snapshot.devices.push_back(std::move(device));
    }
    JobSpec spec = long_job(8192);
    spec.precision = "fp32";
    spec.model.preset = "tiny";
    snapshot.pending.push_back({.id = {"abc123"}, .spec = spec});
    return snapshot;
}

Plan plan_of(const PlanningSnapshot& snapshot) {
    return std::get<Plan>(plan_jobs_with(snapshot, choose_shape).at(0).decision);
}

MeshRanking ranking_of(const PlanningSnapshot& snapshot, const Plan& plan) {
    std::vector<const PlanningDevice*> free;
    for (const PlanningDevice& device : snapshot.devices)
        free.push_back(&device);
    const Mesh mesh = mesh_of(1, static_cast<int>(free.size()), 1, 1);
    return rank_meshes({snapshot, snapshot.pending[0].spec, mesh, free}, plan);
}

Bytes most_of(const std::vector<Bytes>& parts) {
    return parts.empty() ? Bytes{} : *std::max_element(parts.begin(), parts.end());
}

// The step of a plan beside what the plan says that it takes.
void expect_as_predicted(const PlannedStep& step, const Plan& plan) {
    EXPECT_EQ(step.state.total + step.held + step.device_arena.planned, plan.predicted.device);
    EXPECT_EQ(step.state.host_total() + step.host_arena.planned, plan.predicted.host);
    EXPECT_EQ(most_of(step.device), step.device_arena.lower_bound)
        << "the arena is larger than that by what its blocks leave between them";
    EXPECT_EQ(most_of(step.host), step.host_arena.lower_bound);
    EXPECT_LE(step.device_arena.lower_bound, step.device_arena.planned);
    EXPECT_THAT(step.device, SizeIs(kStepParts));
    EXPECT_THAT(step.device, Each(Ge(Bytes{})));
    EXPECT_THAT(step.host, Each(Ge(Bytes{})));
}

TEST(PlanDetail, HasTheMemoryThatWasPlannedAndTheStreams) {
    const PlanningSnapshot snapshot = l40s(1, 1 << 18);
    const Plan plan = plan_of(snapshot);
    const PlannedStep step = planned_step(snapshot, plan).value();
    expect_as_predicted(step, plan);
    EXPECT_TRUE(step.timed);
    EXPECT_TRUE(step.links_measured);
    EXPECT_NEAR(step.length, plan.predicted.step.value, 0.01 * plan.predicted.step.value);
    EXPECT_EQ(step.kind, "L40S");
    EXPECT_EQ(step.device_capacity, Bytes{45 * kGiB});
    EXPECT_EQ(step.host_capacity, Bytes{130 * kGiB});
    ASSERT_FALSE(step.streams.empty());
    EXPECT_EQ(step.streams.front().name, "compute");
    for (const PlannedStep::Stream& stream : step.streams) {
        EXPECT_THAT(stream.busy, SizeIs(kStepParts));
        EXPECT_THAT(stream.busy, Each(testing::AllOf(Ge(0), testing::Le(1))));
    }
}

TEST(PlanDetail, RanksTheMeshesOfTheSearchWithThePlansOwnMarked) {
    PlanningSnapshot snapshot = l40s(1, 1 << 18);
    snapshot.prices["L40S"].price = {.per_device_hour = 2, .currency = "USD"};
    const Plan plan = plan_of(snapshot);
    const MeshRanking ranking = ranking_of(snapshot, plan);
    EXPECT_EQ(ranking.kind, "L40S");
    EXPECT_EQ(ranking.devices, 8);
    EXPECT_THAT(ranking.reasons, testing::IsEmpty());
    ASSERT_GT(ranking.meshes.size(), 2U);
    EXPECT_GE(ranking.considered, static_cast<int>(ranking.meshes.size()));
    const RankedMesh& best = ranking.meshes.front();
    EXPECT_TRUE(best.chosen);
    EXPECT_EQ(best.mesh, plan.mesh);
    EXPECT_EQ(best.zero, plan.zero);
    EXPECT_EQ(best.predicted, plan.predicted);
    EXPECT_EQ(best.cost, cost_of(plan));
    Seconds last;
    int chosen = 0;
    for (const RankedMesh& row : ranking.meshes) {
        chosen += row.chosen;
        if (!row.passed_over.empty()) continue;
        EXPECT_GE(row.predicted.step, last);
        EXPECT_LE(row.predicted.device, Bytes{45 * kGiB});
        last = row.predicted.step;
    }
    EXPECT_EQ(chosen, 1);
}

TEST(PlanDetail, HasTheSharesOfBothPeaksOfAJobInFp8) {
    PlanningSnapshot snapshot = l40s(1, 1 << 16);
    EXPECT_EQ(ranking_of(snapshot, plan_of(snapshot)).meshes.front().fp8_mfu, 0);
    snapshot.pending[0].spec.precision = "fp8";
    const RankedMesh best = ranking_of(snapshot, plan_of(snapshot)).meshes.front();
    EXPECT_GT(best.fp8_mfu, 0);
    EXPECT_NEAR(best.causal_mfu / best.fp8_mfu, 733.0 / 362, 1e-9);
}

// Eight tensor ranks wait half of a step for tiles.
TEST(PlanDetail, OfMessagesInFp8IsFasterWhereTilesBoundTheStep) {
    PlanningSnapshot snapshot = l40s(1, 1 << 16);
    JobSpec& spec = snapshot.pending[0].spec;
    spec.parallel = mesh_of(1, 1, 1, 8);
    const Seconds exact = plan_of(snapshot).predicted.step;
    spec.messages.tensor = MessageNumbers::fp8;
    EXPECT_LT(plan_of(snapshot).predicted.step.value, 0.9 * exact.value);
}

TEST(PlanDetail, OfAMeshThatIsNotRankedSaysWhatWasPlannedThen) {
    const PlanningSnapshot snapshot = l40s(1, 1 << 18);
    Plan plan = plan_of(snapshot);
    plan.mesh = mesh_of(1, 1, 1, 8);
    plan.predicted.step = {1e6};
    const MeshRanking ranking = ranking_of(snapshot, plan);
    const auto own = std::find_if(ranking.meshes.begin(), ranking.meshes.end(),
                                  [](const RankedMesh& row) { return row.chosen; });
    ASSERT_NE(own, ranking.meshes.end());
    EXPECT_EQ(own->mesh, plan.mesh);
    EXPECT_EQ(own->predicted, plan.predicted);
    EXPECT_GT(own - ranking.meshes.begin(), 1) << "it is the slowest";
}

TEST(PlanDetail, OfALongContextOnManyDevicesIsAsPredictedToo) {
    const PlanningSnapshot snapshot = l40s(4, 1 << 20);
    const Plan plan = plan_of(snapshot);
    const PlannedStep step = planned_step(snapshot, plan).value();
    expect_as_predicted(step, plan);
    EXPECT_NEAR(step.length, plan.predicted.step.value, 0.02 * plan.predicted.step.value);
}

TEST(PlanDetail, TakesTheSpeedsAsThePlanTookThem) {
    PlanningSnapshot snapshot = l40s(1, 1 << 18);
    snapshot.profiles.resize(1);  // without a measurement: only the correction is kept
    for (PlanningDevice& device : snapshot.devices)
        device.profile = 0;
    Plan plan = plan_of(snapshot);
    const double before = planned_step(snapshot, plan).value().length;
    snapshot.profiles[0].bf16_correction = 1.5;
    EXPECT_EQ(planned_step(snapshot, plan).value().length, before);
    plan.predicted.correction = 1.25;
    const double longer = planned_step(snapshot, plan).value().length / before;
    EXPECT_GT(longer, 1.1);
    EXPECT_LT(longer, 1.26);
}

TEST(PlanDetail, WithoutSpeedsGoesFromBufferToBuffer) {
    const PlanningSnapshot snapshot = two_cpus();
    const Plan plan = plan_of(snapshot);
    const PlannedStep step = planned_step(snapshot, plan).value();
    EXPECT_FALSE(step.timed);
    EXPECT_GT(step.length, 1);
    EXPECT_THAT(step.streams, testing::IsEmpty());
    EXPECT_EQ(most_of(step.device), step.device_arena.lower_bound);
    EXPECT_GT(step.state.total.value, 0);
    const MeshRanking ranking = ranking_of(snapshot, plan);
    ASSERT_THAT(ranking.meshes, SizeIs(1));
    EXPECT_TRUE(ranking.meshes[0].chosen);
    ASSERT_THAT(ranking.reasons, SizeIs(1));
    EXPECT_EQ(to_string(ranking.reasons[0]),
              "the speeds of cpu devices in fp32 are not known; workers measure those of CPU slots "
              "with `--profile now`");
}

TEST(PlanDetail, ThatCannotBeMadeSaysWhy) {
    PlanningSnapshot snapshot = l40s(1, 1 << 18);
    Plan plan = plan_of(snapshot);
    plan.placement[3] = {{"elsewhere"}, 3};
    EXPECT_THAT(planned_step(snapshot, plan).error().message, HasSubstr("device elsewhere:3"));
    plan = plan_of(snapshot);
    for (PlanningDevice& device : snapshot.devices)
        device.kind = "B200";
    EXPECT_THAT(planned_step(snapshot, plan).error().message,
                HasSubstr("the speeds of B200 devices in bf16 are not known"));
    snapshot.pending[0].spec.model = {.preset = {}, .from = "/nowhere/model"};
    for (PlanningDevice& device : snapshot.devices)
        device.kind = "L40S";
    EXPECT_THAT(planned_step(snapshot, plan).error().message, HasSubstr("/nowhere/model"));
}

}  // namespace
}  // namespace rm::test
