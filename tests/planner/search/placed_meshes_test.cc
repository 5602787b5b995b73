#include "planner/search/placed_meshes.h"

#include <gtest/gtest.h>

#include "planner/placement/job_traffic.h"
#include "tests/planner/search/planned_jobs.h"

namespace rm::test {
namespace {

Prediction that_moved(std::map<std::string, Bytes> bytes) {
    Prediction prediction;
    prediction.moved = std::move(bytes);
    return prediction;
}

TEST(RecordedBytes, AreSharedAmongThePhasesOfAnAxis) {
    const StepTraffic counted = {{.axis = Axis::ring, .bytes = {100}, .outer_bytes = {100}},
                                 {.axis = Axis::ring, .bytes = {200}},
                                 {.axis = Axis::tensor, .bytes = {50}}};
    const StepTraffic recorded =
        recorded_bytes(counted, that_moved({{"ring", {800}}, {"uploaded", {9}}}));
    EXPECT_EQ(recorded[0].bytes, Bytes{200});
    EXPECT_EQ(recorded[0].outer_bytes, Bytes{200});
    EXPECT_EQ(recorded[1].bytes, Bytes{400});
    EXPECT_EQ(recorded[2].bytes, Bytes{0}) << "the schedule sends nothing along tensor";
}

// The groups of a double ring have one name in predictions: its time once counted three times.
TEST(ExposedAlong, CountsEachNameOnce) {
    Prediction prediction;
    prediction.phases = {{"ring_exposed", 2}, {"gradient_exposed", 3}, {"world_exposed", 4}};
    EXPECT_EQ(exposed_along(prediction, Axis::ring), 2);
    EXPECT_EQ(exposed_along(prediction, Axis::data), 7);
    EXPECT_EQ(exposed_along(prediction, Axis::tensor), 0);
}

std::int64_t sent_along(const StepTraffic& traffic, Axis axis) {
    std::int64_t bytes = 0;
    for (const CommPhase& phase : traffic)
        bytes += phase.axis == axis ? phase.bytes.value + phase.outer_bytes.value : 0;
    return bytes;
}

// The first placement of a mesh goes by the formulas, which know nothing of memory policies.
TEST(RecordedBytes, AreThoseOfTheFormulasAndOfRecomputation) {
    const JobSpec spec = long_job(262144);
    const ModelConfig model = planned_model(spec).value();
    const FleetSpec fleet = published_fleet("L40S", 8).value();
    const std::vector<Mesh> meshes = {mesh_of(1, 8, 1, 1), mesh_of(1, 2, 4, 1),
                                      mesh_of(1, 4, 1, 2)};
    const auto found = search_plans({spec, model, fleet, 8, meshes}, {.ranked = 9});
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_GE(found->ranked.size(), 3U);
    for (const RankedPlan& plan : found->ranked) {
        const Sharding& sharding = plan.sharding;
        const StepTraffic counted = traffic_of(spec, model, sharding.mesh, sharding.zero);
        const StepTraffic recorded = recorded_bytes(counted, plan.prediction);
        for (const Axis axis : {Axis::data, Axis::ring, Axis::ulysses, Axis::tensor}) {
            const std::int64_t formula = sent_along(counted, axis);
            if (formula == 0) continue;
            const double ratio =
                static_cast<double>(sent_along(recorded, axis)) / static_cast<double>(formula);
            // Layers that are recomputed exchange their heads and partial results again.
            const bool again = axis == Axis::ulysses || axis == Axis::tensor;
            EXPECT_GT(ratio, 0.98) << to_string(sharding) << " " << to_string(axis);
            EXPECT_LT(ratio, again ? 1.5 : 1.02) << to_string(sharding) << " " << to_string(axis);
        }
    }
}

}  // namespace
}  // namespace rm::test
