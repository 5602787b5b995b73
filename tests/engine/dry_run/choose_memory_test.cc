#include "engine/dry_run/choose_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/dry_run/hiding_chunk.h"
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
    return {.tile = kUsualTile, .device = arena + besides_arena(job, on_l40s(DryRunMode::steady))};
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
    DryJob job = one_rank_job();
    job.shape.context = 4096;  // attention, which alpha does not touch, is a small part
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
}

TEST(ChooseMemory, TakesWindowsInARing) {
    const DryJob job = little_job(12, mesh_of(1, 2, 2, 1), 3);
    MemorySpec spec{.offload = Switch::on, .windows = Switch::off};
    DryRunOptions options = on_l40s(DryRunMode::steady);
    spec.device = Bytes{std::int64_t{1} << 40};
    const ChosenMemory whole = choose_memory(job.spec, job.shape, spec, options).value();
    spec.windows = Switch::automatic;
    spec.device = Bytes{whole.prediction.device_total().value -
                        3 * whole.prediction.device.planned.value / 4};
    const ChosenMemory chosen = choose_memory(job.spec, job.shape, spec, options).value();
    EXPECT_EQ(chosen.policy.working, WorkingSet::windows);
    EXPECT_LE(chosen.prediction.device_total(), *spec.device);
}

// FPDT's rule for bf16 is Hk / Hq x FLOP/s / (bytes/s) tokens.
TEST(HidingChunks, FollowTheRuleOfFpdt) {
    const DryJob job = large_job(mesh_of(1, 1, 1, 1));
    const DeviceProfile& profile = *on_l40s(DryRunMode::steady).profile;
    const NumericTypes types{DType::bf16, DType::f32, DType::f32};
    const auto chunks_of = [&](int ulysses, std::int64_t kv_heads) {
        DryJob other = job;
        other.spec.model.num_kv_heads = kv_heads;
        MemoryPolicy memory;
        memory.tile_tokens = 64;
        memory.chunk_tokens = 64;
        memory.kept = KeptPlace::host;
        memory.working = WorkingSet::windows;
        const RankLayout layout =
            make_rank_layout(1 << 20, mesh_of(1, 1, ulysses, 1), 0, memory).value();
        return hiding_chunks(other.spec.model, layout, types, profile);
    };
    const HidingChunks grouped = chunks_of(1, 8), equal = chunks_of(1, 32);
    const double flops =
        1e12 /
        seconds_of(profile, "attention_fwd", {.amount = 1e12, .size = 4096, .head_dim = 128}).value;
    const double bytes = 1e9 / seconds_of(profile, "upload", work_of_bytes(1e9)).value;
    EXPECT_NEAR(static_cast<double>(grouped.forward), 0.25 * flops / bytes, 0.1 * flops / bytes);
    EXPECT_NEAR(static_cast<double>(equal.forward), flops / bytes, 0.15 * flops / bytes);
    EXPECT_EQ(grouped.backward, equal.backward) << "queries travel, whatever the keys";
    // Each of four ranks holds a quarter of the slot's chunk.
    EXPECT_NEAR(static_cast<double>(chunks_of(4, 8).backward),
                static_cast<double>(grouped.backward) / 4, 64);
}

}  // namespace
}  // namespace rm::test
