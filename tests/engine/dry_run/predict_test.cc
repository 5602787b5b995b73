#include "engine/dry_run/predict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {
namespace {

Prediction prediction_of(const DryJob& job, const DryRunOptions& options) {
    auto prediction = predict(job.spec, job.shape, options);
    RM_CHECK(prediction.ok(), "{}", prediction.error().message);
    return *prediction;
}

void expect_same_memory(const Prediction& a, const Prediction& b) {
    EXPECT_EQ(a.device.planned, b.device.planned);
    EXPECT_EQ(a.device.lower_bound, b.device.lower_bound);
    EXPECT_EQ(a.host.planned, b.host.planned);
    EXPECT_EQ(a.host.lower_bound, b.host.lower_bound);
    EXPECT_EQ(a.state.by_kind, b.state.by_kind);
}

void expect_close(double a, double b, double share) {
    EXPECT_NEAR(a, b, share * std::abs(b));
}

// Compares group by group: ranks of a tree or of an uneven cut send slightly different amounts.
void expect_same_traffic(const Prediction& a, const Prediction& b) {
    ASSERT_EQ(a.moved.size(), b.moved.size());
    for (const auto& [name, bytes] : a.moved) {
        SCOPED_TRACE(name);
        expect_close(static_cast<double>(bytes.value), static_cast<double>(b.moved.at(name).value),
                     1e-3);
    }
}

double sum_of(const std::map<std::string, double>& values) {
    double sum = 0;
    for (const auto& [name, value] : values)
        sum += value;
    return sum;
}

class SteadyPrediction : public testing::TestWithParam<PolicyCase> {};

// Memory is equal at both ends of the ring, and times differ little.
TEST_P(SteadyPrediction, IsThatOfAllLayers) {
    const auto host = make_cpu_kernels({.num_threads = 1});
    for (const std::int64_t layers : {13, 20}) {
        const DryJob job = job_of(GetParam(), layers, host.get());
        DryRunOptions options = on_l40s(DryRunMode::steady);
        options.micro_batches = GetParam().micro_batches;
        const Prediction steady = prediction_of(job, options);
        options.mode = DryRunMode::every_rank;
        const Prediction whole = prediction_of(job, options);
        expect_same_memory(steady, whole);
        expect_same_traffic(steady, whole);
        expect_close(steady.step.value, whole.step.value, 1e-3);
        expect_close(steady.executed_flops, whole.executed_flops, 1e-9);
        expect_close(sum_of(steady.phases), steady.step.value, 1e-6);
    }
}

std::vector<PolicyCase> cases() {
    const auto host = KeptPlace::host;
    const auto windows = WorkingSet::windows;
    return {{.name = "one", .mesh = mesh_of(1, 1, 1, 1)},
            {.name = "again", .mesh = mesh_of(1, 1, 1, 1), .keep = Keep::input, .alpha = 0.25},
            {.name = "separate", .mesh = mesh_of(1, 1, 1, 1), .reuse = ArenaReuse::off},
            {.name = "host", .mesh = mesh_of(1, 1, 1, 1), .kept = host, .alpha = 0.5},
            {.name = "windows", .mesh = mesh_of(1, 1, 1, 1), .kept = host, .working = windows},
            {.name = "ring", .mesh = mesh_of(1, 4, 1, 1), .zero = 1},
            {.name = "double_ring", .mesh = mesh_of(1, 4, 1, 1, 2), .zero = 3, .alpha = 0},
            {.name = "ulysses_host", .mesh = mesh_of(1, 2, 2, 1), .zero = 2, .kept = host},
            {.name = "tensor", .mesh = mesh_of(1, 2, 1, 2), .zero = 3},
            {.name = "data_zero3", .mesh = mesh_of(2, 1, 1, 1), .zero = 3},
            {.name = "windows_in_a_ring",
             .mesh = mesh_of(1, 4, 1, 1),
             .zero = 3,
             .kept = host,
             .working = windows,
             .keep = Keep::input,
             .alpha = 0.5},
            {.name = "windows_everywhere",
             .mesh = mesh_of(1, 2, 2, 2),
             .zero = 3,
             .kept = host,
             .working = windows,
             .keep = Keep::input,
             .alpha = 0},
            {.name = "host_state", .mesh = mesh_of(2, 2, 1, 1), .zero = 3, .host_state = true},
            {.name = "micro_batches",
             .mesh = mesh_of(1, 2, 1, 1),
             .zero = 2,
             .host_state = true,
             .micro_batches = 3},
            {.name = "many_passes", .mesh = mesh_of(1, 2, 2, 1), .zero = 1, .micro_batches = 5},
            {.name = "many_passes_zero3",
             .mesh = mesh_of(2, 1, 1, 2),
             .zero = 3,
             .kept = host,
             .alpha = 0.5,
             .micro_batches = 5},
            {.name = "many_passes_host_state",
             .mesh = mesh_of(1, 2, 1, 1),
             .zero = 2,
             .host_state = true,
             .micro_batches = 5},
            {.name = "many_passes_windows",
             .mesh = mesh_of(1, 2, 1, 1),
             .zero = 3,
             .kept = host,
             .working = windows,
             .alpha = 0,
             .micro_batches = 5}};
}

INSTANTIATE_TEST_SUITE_P(Policies, SteadyPrediction, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(Prediction, OfAnEightBillionModelOnThirtyTwoRanksIsThatOfEveryRank) {
    for (const Mesh& mesh : {mesh_of(1, 32, 1, 1), mesh_of(1, 8, 4, 1)}) {
        const DryJob job = large_job(mesh);
        const Prediction steady = prediction_of(job, on_l40s(DryRunMode::steady));
        const Prediction every = prediction_of(job, on_l40s(DryRunMode::every_rank));
        expect_same_memory(steady, every);
        expect_same_traffic(steady, every);
        expect_close(steady.step.value, every.step.value, 1e-3);
        EXPECT_EQ(steady.device.planned, steady.device.lower_bound);
    }
}

// Takes 30 ms on one core, as `ring-bench dry-run` measures.
TEST(Prediction, OfFiveHundredRanksIsMadeWhileSomebodyWaits) {
    DryJob job = large_job(mesh_of(1, 512, 1, 1));
    job.shape.context *= 4;
    const SystemClock clock;
    const MonoTime begin = clock.mono();
    prediction_of(job, on_l40s(DryRunMode::steady));
    EXPECT_LT((clock.mono() - begin).value, 2);
}

TEST(Prediction, HasTheArenasOfTheRun) {
    const auto like = make_cpu_kernels({.num_threads = 1});
    DryJob job = little_job(8, mesh_of(1, 2, 1, 1), 0);
    job.shape.memory.kept = KeptPlace::host;
    job.shape.memory.alpha = 0.5;
    const StageArenas planned = plan_arenas(job.spec, job.shape, *like).value();
    const Prediction prediction = prediction_of(job, {.types = like->types(), .like = like.get()});
    EXPECT_EQ(prediction.device.planned, planned.device.size);
    EXPECT_EQ(prediction.host.planned, planned.host.size);
}

TEST(Prediction, IsTheSameEveryTime) {
    const DryJob job = little_job(12, mesh_of(1, 4, 1, 1), 3);
    const Prediction a = prediction_of(job, on_l40s(DryRunMode::steady));
    const Prediction b = prediction_of(job, on_l40s(DryRunMode::steady));
    expect_same_memory(a, b);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.phases, b.phases);
}

TEST(Prediction, CountsTheFlopsOfTheModel) {
    const DryJob job = little_job(12, mesh_of(2, 1, 1, 1), 0);
    DryRunOptions options = on_l40s(DryRunMode::steady);
    options.micro_batches = 3;
    const Prediction prediction = prediction_of(job, options);
    EXPECT_EQ(prediction.tokens, 6.0 * 65536);
    EXPECT_EQ(prediction.model_flops,
              training_flops(job.spec.model, 6.0 * 65536, 3.0 * 65536 * 65537));
    const double peak = 2 * options.profile->peak_flops;
    EXPECT_DOUBLE_EQ(prediction.causal_mfu, prediction.model_flops / prediction.step.value / peak);
    EXPECT_LT(prediction.causal_mfu, 1);
}

// With alpha 0 the step recomputes everything except attention, with alpha 1 only the scores.
TEST(Prediction, ExecutesWhatIsDoneAgain) {
    DryJob job = little_job(12, mesh_of(1, 1, 1, 1), 0);
    const Prediction kept = prediction_of(job, on_l40s(DryRunMode::steady));
    const ModelConfig& m = job.spec.model;
    const double pairs = kept.tokens * 65537 / 2;
    const auto scores = static_cast<double>(2 * m.num_layers * m.num_query_heads * m.head_dim);
    expect_close(kept.executed_flops, training_flops(m, kept.tokens, pairs) + scores * pairs, 1e-3);
    job.shape.memory.alpha = 0;
    const Prediction again = prediction_of(job, on_l40s(DryRunMode::steady));
    EXPECT_GT(again.executed_flops, 1.01 * kept.executed_flops);
    EXPECT_GT(again.step, kept.step);
    EXPECT_LT(again.device.planned, kept.device.planned);
}

TEST(Prediction, OfSlowLinksIsThatOfTheWire) {
    DryRunOptions options = on_l40s(DryRunMode::steady);
    const DryJob job = little_job(12, mesh_of(1, 4, 1, 1), 0);
    options.links = uniform_links({Seconds{0}, 1e6});
    const Prediction prediction = prediction_of(job, options);
    EXPECT_GT(prediction.phases.at("ring_exposed"), 0.5 * prediction.step.value);
    // Keys and values travel around the ring in both passes, their gradients in the backward pass.
    EXPECT_GT(prediction.busy.at("communication"), 0.9 * prediction.step.value);
    EXPECT_GE(prediction.step.value, static_cast<double>(prediction.moved.at("ring").value) / 1e6);
}

TEST(Prediction, WithoutAProfileIsAboutMemoryOnly) {
    const DryJob job = little_job(12, mesh_of(1, 1, 1, 1), 0);
    const Prediction timed = prediction_of(job, on_l40s(DryRunMode::steady));
    const Prediction untimed = prediction_of(job, {});
    EXPECT_EQ(untimed.step.value, 0);
    EXPECT_EQ(untimed.tokens_per_sec, 0);
    EXPECT_EQ(untimed.device, timed.device);
}

TEST(Prediction, MovesWhatIsKeptToTheHostAndBack) {
    DryJob job = little_job(12, mesh_of(1, 1, 1, 1), 0);
    job.shape.memory.kept = KeptPlace::host;
    const Prediction prediction = prediction_of(job, on_l40s(DryRunMode::steady));
    EXPECT_GE(prediction.moved.at("downloaded"), prediction.host.lower_bound);
    EXPECT_GE(prediction.moved.at("uploaded"), prediction.host.lower_bound);
}

// A single rank never waits for gradients or weights of others.
TEST(Prediction, CountsWaitingForTheHostsUpdateAsTheUpdate) {
    const auto host = make_cpu_kernels({.num_threads = 1});
    DryJob job = little_job(12, mesh_of(1, 1, 1, 1), 0);
    job.spec.host = host.get();
    const Prediction prediction = prediction_of(job, on_l40s(DryRunMode::steady));
    EXPECT_GT(prediction.phases.at("update_exposed"), 0);
    EXPECT_FALSE(prediction.phases.contains("communication_exposed"));
}

// Returns how much longer a phase gets when each weight takes 0.1 s more to prepare.
double longer_by_preparing(int zero, const char* phase) {
    const DryJob job = little_job(12, mesh_of(2, 1, 1, 1), zero);
    DryRunOptions options = on_l40s(DryRunMode::steady);
    const Prediction usual = prediction_of(job, options);
    DeviceProfile slow = *options.profile;
    for (OpSpeed& speed : slow.ops) {
        if (speed.op == "prepare") speed.overhead.value += 0.1;
    }
    options.profile = &slow;
    return prediction_of(job, options).phases.at(phase) - usual.phases.at(phase);
}

// Each layer has seven weights; the head is one more.
TEST(Prediction, CountsPreparingWeightsWhereItIsDone) {
    EXPECT_NEAR(longer_by_preparing(1, "optimizer"), 0.1 * (12 * 7 + 1), 1e-3);
    EXPECT_NEAR(longer_by_preparing(1, "other"), 0, 1e-3);
    EXPECT_NEAR(longer_by_preparing(3, "optimizer"), 0, 1e-3);
    EXPECT_GT(longer_by_preparing(3, "other"), 0.1 * 12 * 7);
}

// Four million tokens of a 70B model: sums of bytes and FLOPs are far above 32 bits, and a step's
// pairs above 2^52. Under the sanitizers no sum may overflow.
TEST(Prediction, OfFourMillionTokensOfSeventyBillionParametersDoesNotOverflow) {
    DryJob job = large_job(mesh_of(1, 64, 8, 1));
    job.spec.model = find_preset("llama3-70b").value();
    job.shape.context = std::int64_t{4} << 20;
    const Prediction prediction = prediction_of(job, on_l40s(DryRunMode::steady));
    EXPECT_EQ(prediction.tokens, 4.0 * (1 << 20));
    // Each of the 80 layers keeps at least gate and up of 8,192 tokens.
    EXPECT_GT(prediction.device.lower_bound.value, std::int64_t{80} * 8192 * 2 * 28672 * 2);
    EXPECT_GT(prediction.causal_mfu, 0.2);
    EXPECT_LT(prediction.causal_mfu, 0.7);
}

TEST(Prediction, NamesWhatCannotBeLaidOut) {
    const DryJob job = little_job(12, mesh_of(1, 1, 1, 3), 0);
    const auto prediction = predict(job.spec, job.shape, {});
    ASSERT_FALSE(prediction);
    EXPECT_NE(prediction.error().message.find("for tensor 3"), std::string::npos);
}

}  // namespace
}  // namespace rm::test
