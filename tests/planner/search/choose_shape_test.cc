#include "planner/search/choose_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/schedule/device_profile_json.h"
#include "tests/planner/search/planned_jobs.h"

// The shape that the scheduler gives to a job, beside what the search says of the same machines.
namespace rm::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

struct ChooseShape : testing::Test {
    PlanningSnapshot snapshot;
    JobSpec spec = long_job(1 << 18);

    // Devices of one node, whose links were measured.
    void join(const std::string& kind, int number, Bytes memory, Bytes host) {
        for (int i = 0; i < number; ++i) {
            PlanningDevice device{.id = {{"a"}, i}, .kind = kind, .build = "b", .nccl = "2"};
            device.memory = memory;
            device.host_memory = host;
            snapshot.devices.push_back(std::move(device));
        }
        snapshot.links = uniform_graph({{"a"}}, number, {.bandwidth = {175}},
                                       {.bandwidth = {176}, .flow = {}, .latency = {10e-6}});
    }
    void join_gpus() { join("L40S", 8, {45 * kGiB}, {130 * kGiB}); }
    // Their speeds are those of an L40S: only the memory is that of a CPU.
    void join_cpus(int number, Bytes memory) {
        join("cpu", number, memory, {});
        DeviceProfile profile = published_profiles().front();
        profile.compute = DType::f32;
        profile.held = {};
        for (OpSpeed& op : profile.ops)
            op.workspace = {};
        snapshot.profiles = {{.bf16 = {}, .fp32 = to_json(profile)}};
        for (PlanningDevice& device : snapshot.devices)
            device.profile = 0;
    }

    ShapeDecision choose() const {
        std::vector<const PlanningDevice*> free;
        for (const PlanningDevice& device : snapshot.devices)
            free.push_back(&device);
        const auto ranks = static_cast<int>(free.size());
        const Mesh mesh = spec.parallel.value_or(mesh_of(1, ranks, 1, 1));
        return choose_shape({snapshot, spec, mesh, free});
    }
    PlanShape shape() const {
        const ShapeDecision decision = choose();
        if (const auto* reasons = std::get_if<Reasons>(&decision)) {
            ADD_FAILURE() << reasons->front().text;
            return {};
        }
        return std::get<PlanShape>(decision);
    }
    std::string against() const {
        const ShapeDecision decision = choose();
        const auto* reasons = std::get_if<Reasons>(&decision);
        return reasons == nullptr ? "it fits" : to_string(reasons->front());
    }
    RankedPlan searched() const {
        FleetSpec fleet{published_profiles().front(), snapshot.links, {8 * 130 * kGiB}};
        fleet.device.memory = {45 * kGiB};
        const ModelConfig model = planned_model(spec).value();
        return search_plans({spec, model, fleet, 8}, {.ranked = 1}).value().ranked.at(0);
    }
};

TEST_F(ChooseShape, PlacesRanksWhereAStepTakesLeast) {
    join_gpus();
    // Registered in turn, so that a ring in order of registration always crosses the slow link.
    snapshot.links = uniform_graph({{"a"}, {"b"}}, 4, {.bandwidth = {5}}, {.bandwidth = {176}});
    for (std::size_t i = 0; i < snapshot.devices.size(); ++i)
        snapshot.devices[i].id = {{i % 2 == 0 ? "a" : "b"}, static_cast<int>(i / 2)};
    spec.parallel = mesh_of(1, 8, 1, 1);
    spec.zero = 3;
    const PlanShape placed = shape();
    ASSERT_EQ(placed.placement.size(), 8U);
    int crossings = 0;
    for (std::size_t rank = 0; rank < 8; ++rank)
        crossings += placed.placement[rank].node != placed.placement[(rank + 1) % 8].node;
    EXPECT_EQ(crossings, 2);

    for (const PlanningDevice& device : snapshot.devices)
        spec.resources.placement.push_back(device.id);
    const PlanShape named = shape();
    EXPECT_EQ(named.placement, spec.resources.placement);
    EXPECT_GT(named.predicted.step, placed.predicted.step);
}

TEST_F(ChooseShape, OfMeasuredDevicesIsTheFastestOfTheSearch) {
    join_gpus();
    const RankedPlan best = searched();
    const PlanShape chosen = shape();
    EXPECT_EQ(chosen.mesh, best.sharding.mesh);
    EXPECT_EQ(chosen.zero, best.sharding.zero);
    EXPECT_GT(chosen.zero, 0) << "an 8B model is too large for each of eight devices";
    MemoryPolicy memory = best.memory;
    EXPECT_EQ(memory.device, Bytes{45 * kGiB});
    memory.device = memory.host = {};
    EXPECT_EQ(chosen.memory, memory) << "the job has no limits of its own";
}

TEST_F(ChooseShape, PlansWithWhatEarlierRunsTook) {
    spec.precision = "fp32";
    spec.model.preset = "tiny";
    join_cpus(2, {8 * kGiB});
    spec.parallel = mesh_of(1, 2, 1, 1);
    const PlanShape before = shape();
    EXPECT_EQ(before.predicted.correction, 0);
    snapshot.profiles[0].bf16_correction = 1.9;
    EXPECT_EQ(shape().predicted, before.predicted) << "that is of other speeds";
    snapshot.profiles[0].fp32_correction = 1.25;
    const PlanShape corrected = shape();
    EXPECT_EQ(corrected.predicted.correction, 1.25);
    const double longer = corrected.predicted.step.value / before.predicted.step.value;
    EXPECT_GT(longer, 1.1);
    EXPECT_LE(longer, 1.25 * (1 + 1e-9)) << "links are as fast as before";
}

TEST_F(ChooseShape, KeepsTheMeshThatTheJobNames) {
    join_gpus();
    spec.parallel = mesh_of(1, 4, 2, 1);
    spec.zero = 3;
    EXPECT_EQ(shape().mesh, *spec.parallel);
    EXPECT_EQ(shape().zero, 3);
    spec.zero = 0;
    spec.model.preset = "tiny";
    EXPECT_EQ(shape().zero, 0) << "and its stage of ZeRO";
}

TEST_F(ChooseShape, WithoutMeasuredLinksKeepsTheLongestRingAndFindsAStageThatFits) {
    join_gpus();
    snapshot.links = {};
    EXPECT_EQ(shape().mesh, mesh_of(1, 8, 1, 1));
    EXPECT_GE(shape().zero, 2);
}

TEST_F(ChooseShape, KeepsTheLimitsOfTheJobInItsPolicy) {
    join_gpus();
    spec.memory.device = Bytes{30 * kGiB};
    EXPECT_EQ(shape().memory.device, Bytes{30 * kGiB});
    EXPECT_EQ(shape().memory.host, Bytes{});
}

TEST_F(ChooseShape, OfAReproducibleJobHasTheUsualTile) {
    join_gpus();
    EXPECT_GT(shape().memory.tile_tokens, kUsualTile);
    spec.reproducible = Reproducible::on;
    EXPECT_EQ(shape().memory.tile_tokens, kUsualTile);
}

TEST_F(ChooseShape, SaysWhatIsMissingWhereNothingFits) {
    join("L40S", 2, {45 * kGiB}, {130 * kGiB});
    EXPECT_THAT(against(), HasSubstr("no plan fits; the nearest, "));
    EXPECT_THAT(against(), HasSubstr("of the device"));
    EXPECT_THAT(against(), HasSubstr("more than 45.0 GiB"));
    EXPECT_EQ(std::get<Reasons>(choose()).front().kind, ReasonKind::memory);
}

TEST_F(ChooseShape, IsRefusedAboveTheCostOfTheJobWithTheCheapestBesideIt) {
    join_gpus();
    snapshot.prices["L40S"].price = {.per_device_hour = 1.45, .currency = "USD"};
    const double cost = cost_of(snapshot.prices["L40S"], 8, shape().predicted.all).money;
    spec.resources.max_cost_usd = cost;
    EXPECT_EQ(shape().mesh.num_ranks(), 8);
    spec.resources.max_cost_usd = 0.9 * cost;
    EXPECT_THAT(against(), HasSubstr("the fastest plan, "));
    snapshot.advise = true;
    EXPECT_THAT(against(), HasSubstr(" costs "));
    EXPECT_THAT(against(), testing::AnyOf(HasSubstr("; the cheapest plan, "),
                                          HasSubstr("; no other number of devices costs less")));
    snapshot.by_rule = true;
    EXPECT_THAT(against(), HasSubstr("no dry run says how long"));
    EXPECT_THAT(against(), HasSubstr("the search took too long"));
}

TEST_F(ChooseShape, IsThatOfTheRuleWhereNothingIsKnown) {
    join("L41S", 8, {45 * kGiB}, {});
    const PlanShape rule{mesh_of(1, 8, 1, 1), 0, resolve_memory({})};
    EXPECT_EQ(shape().mesh, rule.mesh);
    EXPECT_EQ(shape().memory, rule.memory);
    snapshot.devices.clear();
    join_gpus();
    spec.model = {.preset = {}, .from = "/no/such/model"};
    EXPECT_EQ(shape().memory, rule.memory);
}

TEST_F(ChooseShape, KeepsNothingOnTheHostOfACpuUnlessTheJobLimitsItsDevice) {
    spec = long_job(1 << 16);
    spec.precision = "fp32";
    spec.model.preset = "tiny";
    join_cpus(2, {4 * kGiB});
    EXPECT_EQ(shape().memory.kept, KeptPlace::device);
    spec.memory.device = Bytes{64 << 20};
    EXPECT_EQ(shape().memory.kept, KeptPlace::host);
    snapshot.devices.clear();
    join_cpus(2, {24 << 20});
    EXPECT_THAT(against(), HasSubstr("more than 24.0 MiB"));
}

}  // namespace
}  // namespace rm::test
