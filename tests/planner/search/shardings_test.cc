#include "planner/search/shardings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/planner/search/planned_jobs.h"

namespace rm::test {
namespace {

constexpr std::int64_t kKi = 1024;

std::vector<Sharding> of(const JobSpec& spec, int ranks, int node_size = 8) {
    return shardings_of(spec, find_preset(spec.model.preset).value(), ranks, node_size).value();
}

std::multiset<std::string> texts(const std::vector<Sharding>& shardings) {
    std::multiset<std::string> texts;
    for (const Sharding& sharding : shardings)
        texts.insert(to_string(sharding));
    return texts;
}

TEST(Shardings, OfFourRanksAreAllFactorsWithBothStages) {
    std::multiset<std::string> wanted;
    for (const char* mesh : {"ring 4", "ulysses 4", "tensor 4", "ring 2 x ulysses 2",
                             "ring 2 x tensor 2", "ulysses 2 x tensor 2"}) {
        for (const int zero : {2, 3}) {
            const bool shares = std::string(mesh) != "tensor 4";
            if (shares) wanted.insert(format("{}, ZeRO {}", mesh, zero));
        }
    }
    wanted.insert("tensor 4, ZeRO 0");
    EXPECT_EQ(texts(of(long_job(64 * kKi), 4)), wanted);
}

// By trying every size of every axis, whether or not it divides anything.
TEST(Shardings, MissNoMeshThatTheJobCanTrainOn) {
    const ModelConfig model = find_preset("llama3-8b").value();
    for (const int ranks : {6, 12, 24}) {
        const JobSpec spec = long_job(96 * kKi, 4);
        std::set<std::string> wanted;
        for (int data = 1; data <= ranks; ++data) {
            for (int ring = 1; ring <= ranks; ++ring) {
                for (int ulysses = 1; ulysses <= ranks; ++ulysses) {
                    for (int tensor = 1; tensor <= ranks; ++tensor) {
                        if (data * ring * ulysses * tensor != ranks) continue;
                        JobSpec meshed = spec;
                        meshed.parallel = mesh_of(data, ring, ulysses, tensor);
                        if (validate(meshed) && check_mesh(*meshed.parallel, model.dims()))
                            wanted.insert(to_string(*meshed.parallel));
                    }
                }
            }
        }
        std::set<std::string> found;
        for (const Sharding& sharding : of(spec, ranks, ranks))
            found.insert(to_string(sharding.mesh));
        EXPECT_EQ(found, wanted) << ranks;
    }
}

TEST(Shardings, ARingBeyondANodeMayBeADoubleOneWithItsInnerRingsInsideNodes) {
    const auto found = texts(of(long_job(64 * kKi), 16, 8));
    EXPECT_TRUE(found.contains("ring 16 (2 of 8), ZeRO 3"));
    EXPECT_TRUE(found.contains("ring 8 (2 of 4) x ulysses 2, ZeRO 3"));
    EXPECT_FALSE(found.contains("ring 2 (2 of 1) x ulysses 8, ZeRO 3"));
    for (const std::string& text : found)
        EXPECT_EQ(found.count(text), 1u) << text;
}

TEST(Shardings, TheStageIsTheJobsOrALaterOne) {
    JobSpec spec = long_job(64 * kKi);
    spec.zero = 3;
    for (const Sharding& sharding : of(spec, 8))
        EXPECT_EQ(sharding.zero, 3);
    // With several passes a step, stage 2 sums after each and stage 1 once.
    std::set<int> stages;
    for (const Sharding& sharding : of(long_job(64 * kKi, 4), 2))
        stages.insert(sharding.zero);
    EXPECT_THAT(stages, testing::IsSupersetOf({1, 2, 3}));
}

TEST(Shardings, AMeshThatTheJobNamesIsTheOnlyOne) {
    JobSpec spec = long_job(64 * kKi);
    spec.parallel = mesh_of(1, 4, 2, 1);
    spec.zero = 1;
    EXPECT_EQ(of(spec, 8), (std::vector<Sharding>{{mesh_of(1, 4, 2, 1), 1}}));
}

std::string error_of(const Result<std::vector<Sharding>>& shardings) {
    return shardings ? "there are some" : shardings.error().message;
}

TEST(Shardings, WhereThereIsNoneTheErrorSaysWhy) {
    const ModelConfig model = find_preset("llama3-8b").value();
    EXPECT_THAT(error_of(shardings_of(long_job(100), model, 64, 8)),
                testing::HasSubstr("no mesh of 64 devices fits this job; as one ring: "));
    JobSpec spec = long_job(64 * kKi);
    spec.parallel = mesh_of(1, 4, 2, 1);
    EXPECT_EQ(error_of(shardings_of(spec, model, 4, 8)),
              "parallel: ring 4 x ulysses 2 has 8 ranks, and the plan is of 4 devices");
}

TEST(Shardings, OnGivenMeshesAreTheirsOrAnErrorThatNamesOne) {
    const JobSpec spec = long_job(64 * kKi);
    const ModelConfig model = find_preset("llama3-8b").value();
    const Mesh ring = mesh_of(1, 8, 1, 1), twice = mesh_of(1, 8, 1, 1, 2);
    EXPECT_EQ(shardings_on(spec, model, 8, {ring, twice}).value(),
              (std::vector<Sharding>{{ring, 2}, {ring, 3}, {twice, 2}, {twice, 3}}));
    EXPECT_EQ(error_of(shardings_on(spec, model, 16, {ring})),
              "ring 8 has 8 ranks, and the plan is of 16 devices");
    EXPECT_THAT(error_of(shardings_on(spec, model, 3, {mesh_of(1, 1, 3, 1)})),
                testing::HasSubstr("does not divide the model's 32 query heads"));
}

}  // namespace
}  // namespace rm::test
