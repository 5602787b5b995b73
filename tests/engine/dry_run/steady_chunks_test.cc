// Compares a step of many chunks, predicted from three short samples, with the whole step.
#include "engine/dry_run/steady_chunks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "engine/dry_run/steady_ring.h"
#include "engine/dry_run/timeline.h"
#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {
namespace {

struct ChunkCase {
    std::string name;
    Mesh mesh;
    KeptPlace kept = KeptPlace::host;
    WorkingSet working = WorkingSet::windows;
    Keep keep = Keep::input_and_attention;
    double alpha = 1;
    int prefetch = 1;
    std::int64_t chunk = 1024;
    std::int64_t context = 65536;
    std::int64_t layers = 2;
};
void PrintTo(const ChunkCase& c, std::ostream* out) {
    *out << c.name;
}

DryJob job_of(const ChunkCase& c) {
    DryJob job = little_job(c.layers, c.mesh, 0);
    job.shape.context = c.context;
    MemoryPolicy& memory = job.shape.memory;
    memory.kept = c.kept;
    memory.working = c.working;
    memory.keep = c.keep;
    memory.alpha = c.alpha;
    memory.prefetch = c.prefetch;
    memory.chunk_tokens = c.chunk;
    return job;
}

// In a ring the first chunks of queries wait for hops, and how long depends on their number: here
// attention of short chunks hides little.
double tolerance_of(const ChunkCase& c) {
    const bool travels = c.working == WorkingSet::windows && c.mesh.size(Axis::ring) > 1;
    return travels ? 1e-2 : 1e-3;
}

// With few layers, `steady` differs from `one_rank` only in the chunks.
Prediction prediction_of(const DryJob& job, DryRunOptions options, DryRunMode mode) {
    options.mode = mode;
    return predict(job.spec, job.shape, options).value();
}

class SteadyChunksOf : public testing::TestWithParam<ChunkCase> {};

TEST_P(SteadyChunksOf, AreTheWholeStep) {
    const DryJob job = job_of(GetParam());
    const DryRunOptions options = on_l40s(DryRunMode::steady);
    ASSERT_TRUE(SteadyChunks::of(job.spec, job.shape, options).value().has_value());
    const Prediction steady = prediction_of(job, options, DryRunMode::steady);
    const Prediction whole = prediction_of(job, options, DryRunMode::one_rank);
    EXPECT_EQ(steady.device, whole.device);
    EXPECT_EQ(steady.host, whole.host);
    EXPECT_EQ(steady.state.by_kind, whole.state.by_kind);
    for (const auto& [name, bytes] : whole.moved) {
        // Ranks of a group send slightly different amounts, and `steady` takes the most.
        const double share = name == "gradient" || name == "world" ? 2e-3 : 0;
        const auto value = static_cast<double>(bytes.value);
        EXPECT_NEAR(static_cast<double>(steady.moved.at(name).value), value, share * value) << name;
    }
    EXPECT_NEAR(steady.executed_flops / whole.executed_flops, 1, 1e-12);
    EXPECT_NEAR(steady.step.value / whole.step.value, 1, tolerance_of(GetParam()));
    std::printf("    step %.9f s, steady %.9f s, off by %.2e\n", whole.step.value,
                steady.step.value, steady.step.value / whole.step.value - 1);
}

TEST_P(SteadyChunksOf, HaveTheTimelineOfTheWholeStep) {
    const DryJob job = job_of(GetParam());
    const StepTimeline steady =
        timeline_of(job.spec, job.shape, on_l40s(DryRunMode::steady)).value();
    const StepTimeline whole =
        timeline_of(job.spec, job.shape, on_l40s(DryRunMode::one_rank)).value();
    EXPECT_NEAR(steady.length / whole.length, 1, tolerance_of(GetParam()));
    ASSERT_EQ(steady.device.size(), whole.device.size());
    const double within = std::max(2e-3, tolerance_of(GetParam()) / 2) * whole.length;
    for (std::size_t i = 0; i < whole.device.size(); ++i) {
        EXPECT_EQ(steady.device[i].bytes, whole.device[i].bytes);
        EXPECT_NEAR(steady.device[i].seconds, whole.device[i].seconds, within);
    }
    for (const StepTimeline::Stream& stream : steady.streams) {
        for (const StepTimeline::Busy& busy : stream.busy) {
            EXPECT_GE(busy.begin, 0);
            EXPECT_LE(busy.end, steady.length * (1 + 1e-12));
        }
    }
}

std::vector<ChunkCase> cases() {
    const Mesh one = mesh_of(1, 1, 1, 1);
    std::vector<ChunkCase> list = {
        {.name = "ring", .mesh = mesh_of(1, 2, 1, 1), .context = 131072},
        {.name = "odd_ring",
         .mesh = mesh_of(1, 3, 1, 1),
         .keep = Keep::input,
         .alpha = 0.25,
         .context = 3 * 61 * 1024},
        {.name = "double_ring", .mesh = mesh_of(1, 4, 1, 1, 2), .alpha = 0, .context = 262144},
        {.name = "ring_ulysses", .mesh = mesh_of(1, 2, 2, 1), .alpha = 0.5, .context = 262144},
        {.name = "ulysses", .mesh = mesh_of(1, 1, 4, 1), .context = 262144},
        {.name = "ring_ulysses_tensor",
         .mesh = mesh_of(1, 2, 2, 2),
         .keep = Keep::input,
         .context = 262144},
        {.name = "windows", .mesh = one},
        {.name = "short_last_chunk", .mesh = one, .context = 65536 - 512 - 64},
        {.name = "again", .mesh = one, .keep = Keep::input, .alpha = 0},
        {.name = "some_kept", .mesh = one, .alpha = 0.25},
        {.name = "prefetch0", .mesh = one, .prefetch = 0},
        {.name = "prefetch4", .mesh = one, .alpha = 0.5, .prefetch = 4},
        {.name = "tiles", .mesh = one, .alpha = 0.5, .chunk = 512, .context = 49152},
        {.name = "data", .mesh = mesh_of(2, 1, 1, 1)},
        {.name = "tensor", .mesh = mesh_of(1, 1, 1, 2), .alpha = 0.5},
        {.name = "host",
         .mesh = one,
         .working = WorkingSet::whole,
         .alpha = 0.5,
         .context = 131072},
        {.name = "device",
         .mesh = one,
         .kept = KeptPlace::device,
         .working = WorkingSet::whole,
         .context = 131072}};
    list.push_back({.name = "ring_host",
                    .mesh = mesh_of(1, 2, 1, 1),
                    .working = WorkingSet::whole,
                    .context = 262144});
    return list;
}

INSTANTIATE_TEST_SUITE_P(Policies, SteadyChunksOf, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(SteadyChunks, OfAShortContextAreAllOfThem) {
    ChunkCase c{.name = "short", .mesh = mesh_of(1, 1, 1, 1), .context = 16384};
    const DryJob job = job_of(c);
    EXPECT_FALSE(
        SteadyChunks::of(job.spec, job.shape, on_l40s(DryRunMode::steady)).value().has_value());
}

class SteadyRings : public testing::TestWithParam<Mesh> {};

TEST_P(SteadyRings, AreTheWholeRing) {
    ChunkCase c{.name = "ring", .mesh = GetParam(), .alpha = 0.5, .chunk = 2048};
    c.context = c.mesh.size(Axis::ring) * 4 * c.chunk;
    const DryJob job = job_of(c);
    const DryRunOptions options = on_l40s(DryRunMode::steady);
    ASSERT_TRUE(SteadyRing::of(job.spec, job.shape, options).value().has_value());
    const Prediction steady = prediction_of(job, options, DryRunMode::steady);
    DryJob last = job;
    last.spec.rank = c.mesh.num_ranks() - 1;  // its messages are those of the slower end
    const Prediction first = prediction_of(job, options, DryRunMode::one_rank);
    const Prediction end = prediction_of(last, options, DryRunMode::one_rank);
    EXPECT_EQ(steady.device, first.device);
    EXPECT_EQ(steady.host, first.host);
    for (const std::string name : {"ring", "uploaded", "downloaded"})
        EXPECT_EQ(steady.moved.at(name), std::max(first.moved.at(name), end.moved.at(name)));
    const double slower = std::max(first.step.value, end.step.value);
    EXPECT_NEAR(steady.step.value / slower, 1, 1e-2);
    std::printf("    step %.9f s, steady %.9f s\n", slower, steady.step.value);
}

INSTANTIATE_TEST_SUITE_P(Meshes, SteadyRings,
                         testing::Values(mesh_of(1, 16, 1, 1), mesh_of(1, 24, 1, 1, 2),
                                         mesh_of(1, 32, 1, 1, 16), mesh_of(1, 96, 1, 1, 8)));

// Takes well under a second, as `ring-bench dry-run --chunks` measures.
TEST(SteadyChunks, PredictSixteenMillionTokensWhileSomebodyWaits) {
    ChunkCase c{.name = "16M", .mesh = mesh_of(1, 1, 1, 1), .chunk = 4096, .layers = 12};
    c.context = std::int64_t{16} << 20;
    const DryJob job = job_of(c);
    const SystemClock clock;
    const MonoTime begin = clock.mono();
    const Prediction prediction =
        prediction_of(job, on_l40s(DryRunMode::steady), DryRunMode::steady);
    EXPECT_LT((clock.mono() - begin).value, 10);
    EXPECT_GT(prediction.moved.at("uploaded").value, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace rm::test
