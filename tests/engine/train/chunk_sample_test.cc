// Compares a sample of a long context's chunks with all of them: the requests are the same, and the
// places of the sample's plan cause no race.
#include <gtest/gtest.h>

#include <random>

#include "engine/train/dry_rank.h"
#include "engine/windows/rank_layout.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/rank_rig.h"

namespace rm::test {
namespace {

struct SampledCase {
    std::string name;
    RankSpec spec;
    StageShape shape;
};

std::string text_of(const SampledCase& c) {
    return format("{}: {} tokens on {}, zero {}, {}", c.name, c.shape.context,
                  to_string(c.spec.mesh), c.spec.zero, to_string(c.shape.memory));
}

template <typename T>
T pick(std::mt19937& random, std::initializer_list<T> values) {
    return values.begin()[random() % values.size()];
}

// Has more chunks than the sample, and often a short last one.
SampledCase random_case(std::uint32_t seed) {
    std::mt19937 random(seed);
    SampledCase c;
    c.name = format("seed {}", seed);
    c.spec.model = small_model();
    c.spec.model.num_layers = pick(random, {1, 2, 3});
    const bool windows = random() % 2 == 0;
    c.spec.mesh = pick(random, {Mesh::make(1, 1, 1, 1).value(), Mesh::make(2, 1, 1, 1).value(),
                                Mesh::make(1, 2, 1, 1).value(), Mesh::make(1, 3, 1, 1).value(),
                                Mesh::make(1, 4, 1, 1, 2).value(), Mesh::make(1, 1, 2, 1).value(),
                                Mesh::make(1, 9, 1, 1).value(), Mesh::make(1, 12, 1, 1, 2).value(),
                                Mesh::make(1, 1, 1, 2).value(), Mesh::make(1, 2, 2, 1).value(),
                                Mesh::make(2, 2, 1, 1).value(), Mesh::make(1, 2, 2, 2).value()});
    c.spec.rank = static_cast<int>(random() % usize(c.spec.mesh.num_ranks()));
    c.spec.zero = pick(random, {0, 2, 3});
    c.spec.vocabulary_block = pick<std::int64_t>(random, {0, 512});
    MemoryPolicy& memory = c.shape.memory;
    memory.tile_tokens = 64;
    memory.chunk_tokens = pick<std::int64_t>(random, {64, 128, 192, 256});
    memory.keep = pick(random, {Keep::input, Keep::input_and_attention});
    memory.alpha = pick(random, {0.0, 0.25, 0.3, 0.5, 0.01, 0.9, 1.0});
    memory.kept = windows || random() % 2 == 0 ? KeptPlace::host : KeptPlace::device;
    memory.working = windows ? WorkingSet::windows : WorkingSet::whole;
    memory.prefetch = pick(random, {0, 1, 2, 4});
    memory.keep_every = pick(random, {1, 1, 2});
    memory.keep_precision = pick(random, {KeptPrecision::compute, KeptPrecision::fp8});
    const ChunkSample sample = planning_sample(memory);
    const std::int64_t chunks = static_cast<std::int64_t>(sample.front + sample.back) + 3 +
                                static_cast<std::int64_t>(random() % 6);
    const std::int64_t ranks = c.spec.mesh.size(Axis::ring) * c.spec.mesh.size(Axis::ulysses);
    c.shape.context = ranks * chunks * memory.chunk_tokens - 64 * (random() % 3);
    c.shape.rope = c.spec.model.rope;
    if (random() % 4 == 0) {  // infers
        c.spec.types.weights_only = true;
        c.shape.new_tokens = pick<std::int64_t>(random, {1, 100});
    }
    return c;
}

void expect_same_requests(const PassRequests& sampled, const PassRequests& all) {
    ASSERT_EQ(sampled.requests.size(), all.requests.size());
    for (std::size_t i = 0; i < all.requests.size(); ++i) {
        EXPECT_EQ(sampled.requests[i].what, all.requests[i].what);
        EXPECT_EQ(sampled.requests[i].layer, all.requests[i].layer);
        EXPECT_EQ(sampled.requests[i].size, all.requests[i].size);
        EXPECT_EQ(sampled.trace.blocks[i].lower, all.trace.blocks[i].lower);
        EXPECT_EQ(sampled.trace.blocks[i].upper, all.trace.blocks[i].upper);
    }
}

class ChunkSamples : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ChunkSamples, PlanWhatAllChunksRequestAndRaceNowhere) {
    const SampledCase c = random_case(GetParam());
    SCOPED_TRACE(text_of(c));
    const auto like = make_cpu_kernels({.num_threads = 1});
    const StageArenas planned = plan_arenas(c.spec, c.shape, *like).value();
    DryRank all(c.spec, {.types = like->types(), .like = like.get()});
    ASSERT_TRUE(all.enter(c.shape).ok());
    const StageArenas recorded = all.record_passes();
    for (const PassKind kind : kPassKinds) {
        expect_same_requests(planned.device.of(kind), recorded.device.of(kind));
        expect_same_requests(planned.host.of(kind), recorded.host.of(kind));
    }
    EXPECT_NO_THROW(check_races(all.schedule(), planned));
}

INSTANTIATE_TEST_SUITE_P(Random, ChunkSamples, testing::Range(1u, 121u));

TEST(ChunkSample, HasFarFewerItemsThanALongContext) {
    RankSpec spec;
    spec.model = small_model();
    MemoryPolicy memory;
    memory.tile_tokens = memory.chunk_tokens = 64;
    memory.kept = KeptPlace::host;
    memory.working = WorkingSet::windows;
    const auto items = [&](std::int64_t context) {
        DryRank rank(spec, {.types = {DType::f32, DType::f32, DType::f32}});
        RM_CHECK(rank.enter({context, memory, {}, planning_sample(memory)}).ok(), "enter");
        rank.record_passes();
        return rank.schedule().items.size();
    };
    EXPECT_EQ(items(64 * 4096), items(64 * 64));
}

// Each rank records its passes when it starts: a ring of 512 takes no longer than one of 8.
TEST(RingSample, HasFarFewerItemsThanALongRing) {
    MemoryPolicy memory;
    memory.tile_tokens = memory.chunk_tokens = 64;
    memory.kept = KeptPlace::host;
    memory.working = WorkingSet::windows;
    const auto items = [&](int ring, int inner) {
        RankSpec spec;
        spec.model = small_model();
        spec.mesh = Mesh::make(1, ring, 1, 1, inner).value();
        spec.rank = ring - 1;
        DryRank rank(spec, {.types = {DType::f32, DType::f32, DType::f32}});
        const StageShape shape{64 * 32 * ring, memory, {}, planning_sample(memory), kPlanningRing};
        RM_CHECK(rank.enter(shape).ok(), "enter");
        rank.record_passes();
        return rank.schedule().items.size();
    };
    EXPECT_EQ(items(512, 512), items(8, 8));
    EXPECT_EQ(items(512, 8), items(64, 8));
}

TEST(KeptPeriod, IsTheFewestChunksAfterWhichKeptTilesRepeat) {
    MemoryPolicy policy;
    policy.tile_tokens = 512;
    policy.chunk_tokens = 4096;
    const auto period_of = [&](double alpha) {
        policy.alpha = alpha;
        return kept_period(policy);
    };
    EXPECT_EQ(period_of(1).chunks, 1);
    EXPECT_EQ(period_of(0).chunks, 1);
    EXPECT_EQ(period_of(0.5).chunks, 1);
    EXPECT_EQ(period_of(0.0625).chunks, 2);
    EXPECT_EQ(period_of(0.3).chunks, 5);
    EXPECT_EQ(period_of(0.3).alpha, 0.3);
    // 0.984 tiles of a chunk: all but one tile in 16 chunks come nearest.
    EXPECT_LE(period_of(0.123).chunks, 16);
    EXPECT_NEAR(period_of(0.123).alpha, 0.123, 1.0 / (16 * 8));
    // One tile in 125 chunks is still more than none.
    EXPECT_GT(period_of(0.001).alpha, 0);
    EXPECT_LT(period_of(0.999).alpha, 1);
    policy.chunk_tokens = 512;  // one tile
    EXPECT_EQ(period_of(1).chunks, 1);
    EXPECT_EQ(period_of(0.5).chunks, 2);
    EXPECT_GT(period_of(0.001).alpha, 0);
    EXPECT_LT(period_of(0.999).alpha, 1);
}

}  // namespace
}  // namespace rm::test
