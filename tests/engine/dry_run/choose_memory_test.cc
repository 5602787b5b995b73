#include "engine/dry_run/choose_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMi = std::int64_t{1} << 20;

DryJob one_rank_job() {
    DryJob job = little_job(10, mesh_of(1, 1, 1, 1), 0);
    job.shape.context = 16384;
    return job;
}

// Returns the memory that a rank takes besides its arena: its state and the driver's share.
Bytes besides_arena(DryJob job, const DryRunOptions& options) {
    job.shape.memory = resolve_memory({});
    const Prediction prediction = predict(job.spec, job.shape, options).value();
    return {prediction.device_total().value - prediction.device.planned.value};
}

// Limits the arena to `arena`.
MemorySpec limited(const DryJob& job, Bytes arena) {
    return {.device = arena + besides_arena(job, on_l40s(DryRunMode::steady))};
}

ChosenMemory chosen(const DryJob& job, const MemorySpec& spec) {
    auto choice = choose_memory(job.spec, job.shape, spec, on_l40s(DryRunMode::steady));
    RM_CHECK(choice.ok(), "{}", choice.error().message);
    return *choice;
}

Prediction prediction_of(DryJob job, const MemoryPolicy& policy) {
    job.shape.memory = policy;
    return predict(job.spec, job.shape, on_l40s(DryRunMode::steady)).value();
}

Bytes arena_of(const DryJob& job, const MemorySpec& spec) {
    return prediction_of(job, resolve_memory(spec)).device.planned;
}

TEST(ChooseMemory, WithoutLimitsIsThatOfTheSpecAlone) {
    const ChosenMemory choice = chosen(one_rank_job(), {.alpha = 0.5});
    EXPECT_EQ(choice.policy, resolve_memory({.alpha = 0.5}));
}

TEST(ChooseMemory, KeepsEverythingOnTheDeviceWhereItFits) {
    const DryJob job = one_rank_job();
    const ChosenMemory choice = chosen(job, limited(job, arena_of(job, {})));
    EXPECT_EQ(choice.policy.kept, KeptPlace::device);
    EXPECT_EQ(choice.policy.alpha, 1);
    EXPECT_EQ(choice.policy.keep, Keep::input_and_attention);
}

TEST(ChooseMemory, PredictsWhatItChose) {
    const DryJob job = one_rank_job();
    const ChosenMemory choice = chosen(job, limited(job, {arena_of(job, {}).value / 3}));
    const Prediction again = prediction_of(job, choice.policy);
    EXPECT_EQ(choice.prediction.step, again.step);
    EXPECT_EQ(choice.prediction.device, again.device);
}

TEST(ChooseMemory, FitsAndIsNotFasterWithLess) {
    const DryJob job = one_rank_job();
    const Bytes all = arena_of(job, {});
    double step = 0;
    for (const int share : {100, 40, 10}) {
        const Bytes limit{all.value * share / 100};
        const ChosenMemory choice = chosen(job, limited(job, limit));
        EXPECT_LE(choice.prediction.device.planned, limit);
        // Alpha moves in steps, and a policy must be a thousandth faster to be chosen.
        EXPECT_GE(choice.prediction.step.value, 0.998 * step) << share;
        step = choice.prediction.step.value;
    }
}

TEST(ChooseMemory, GoesToTheHostAndThenIntoWindowsAsTheDeviceShrinks) {
    const DryJob job = one_rank_job();
    const Bytes host = arena_of(job, {.offload = Switch::on});
    MemorySpec whole = limited(job, host);
    whole.windows = Switch::off;
    const ChosenMemory offloaded = chosen(job, whole);
    EXPECT_EQ(offloaded.policy.kept, KeptPlace::host);
    EXPECT_EQ(offloaded.policy.working, WorkingSet::whole);
    const Bytes windows = arena_of(job, {.chunk = 512, .alpha = 0, .windows = Switch::on});
    const ChosenMemory windowed = chosen(job, limited(job, windows));
    EXPECT_EQ(windowed.policy.working, WorkingSet::windows);
    EXPECT_EQ(windowed.policy.chunk_tokens, 512);
}

// Compares the choice with every policy of a grid that fits.
TEST(ChooseMemory, IsAsFastAsAnyOther) {
    const DryJob job = one_rank_job();
    const MemorySpec spec = limited(job, {arena_of(job, {}).value / 4});
    const double best = chosen(job, spec).prediction.step.value;
    for (const double alpha : {0.0, 0.25, 0.5, 0.75, 1.0}) {
        for (const Keep keep : {Keep::input, Keep::input_and_attention}) {
            for (const Switch offload : {Switch::off, Switch::on}) {
                MemorySpec other = spec;
                other.alpha = alpha;
                other.keep = keep;
                other.offload = offload;
                const Prediction prediction = prediction_of(job, resolve_memory(other));
                if (prediction.device_total() > *spec.device) continue;
                EXPECT_LE(best, 1.002 * prediction.step.value)
                    << alpha << " " << to_string(keep) << " " << to_string(offload);
            }
        }
    }
}

// A slow link has time for less traffic behind compute than a fast one.
TEST(ChooseMemory, KeepsNoMoreOnTheHostThanItsLinkCarriesBehindCompute) {
    const DryJob job = one_rank_job();
    DeviceProfile slow = published_profiles().front();
    for (OpSpeed& speed : slow.ops) {
        if (speed.op != "upload" && speed.op != "download") continue;
        for (SpeedPoint& point : speed.points)
            point.per_sec /= 8;
    }
    MemorySpec spec = limited(job, arena_of(job, {.offload = Switch::on}));
    spec.offload = Switch::on;
    spec.windows = Switch::off;
    DryRunOptions options = on_l40s(DryRunMode::steady);
    const auto fast = choose_memory(job.spec, job.shape, spec, options).value();
    options.profile = &slow;
    const auto choice = choose_memory(job.spec, job.shape, spec, options).value();
    EXPECT_LT(choice.policy.alpha, fast.policy.alpha);
    DryJob as_fast = job;
    as_fast.shape.memory = fast.policy;
    EXPECT_LT(choice.prediction.step, predict(job.spec, as_fast.shape, options)->step);
}

TEST(ChooseMemory, LeavesWhatTheSpecSays) {
    const DryJob job = one_rank_job();
    MemorySpec spec = limited(job, {arena_of(job, {}).value / 2});
    spec.offload = Switch::off;
    spec.keep = Keep::input;
    spec.chunk = 1024;
    const ChosenMemory choice = chosen(job, spec);
    EXPECT_EQ(choice.policy.kept, KeptPlace::device);
    EXPECT_EQ(choice.policy.keep, Keep::input);
    EXPECT_EQ(choice.policy.chunk_tokens, 1024);
    EXPECT_LT(choice.policy.alpha, 1);
}

TEST(ChooseMemory, ObeysTheHostsLimit) {
    const DryJob job = one_rank_job();
    MemorySpec spec = limited(job, arena_of(job, {.offload = Switch::on}));
    spec.offload = Switch::on;
    const Bytes all =
        prediction_of(job, resolve_memory({.alpha = 1, .offload = Switch::on})).host.planned;
    spec.host = Bytes{all.value / 2};
    const ChosenMemory choice = chosen(job, spec);
    EXPECT_LE(choice.prediction.host.planned, *spec.host);
    EXPECT_GT(choice.prediction.host.planned.value, all.value / 8);
}

TEST(ChooseMemory, WithoutAProfileTakesTheFirstThatFits) {
    const DryJob job = one_rank_job();
    const Bytes arena = arena_of(job, {});
    const MemorySpec spec{.device = Bytes{arena.value * 3 / 4} + besides_arena(job, {})};
    const ChosenMemory choice = choose_memory(job.spec, job.shape, spec, {}).value();
    EXPECT_EQ(choice.policy.kept, KeptPlace::device);
    EXPECT_LT(choice.policy.alpha, 1);
    EXPECT_GT(choice.policy.alpha, 0);
    EXPECT_LE(choice.prediction.device_total(), *spec.device);
}

TEST(ChooseMemory, NamesTheNearestWhereNothingFits) {
    const DryJob job = one_rank_job();
    const auto choice =
        choose_memory(job.spec, job.shape, {.device = Bytes{kMi}}, on_l40s(DryRunMode::steady));
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code, ErrorCode::resource_exhausted);
    EXPECT_THAT(choice.error().message, HasSubstr("memory.device: 1MiB is not enough"));
    EXPECT_THAT(choice.error().message, HasSubstr("in windows"));
    EXPECT_THAT(choice.error().message, HasSubstr("chunk 512"));
}

TEST(ChooseMemory, TakesNoWindowsWithARing) {
    const DryJob job = little_job(12, mesh_of(1, 4, 1, 1), 0);
    const auto choice =
        choose_memory(job.spec, job.shape, {.device = Bytes{kMi}}, on_l40s(DryRunMode::steady));
    ASSERT_FALSE(choice);
    EXPECT_THAT(choice.error().message, HasSubstr("layers whole"));
}

}  // namespace
}  // namespace rm::test
