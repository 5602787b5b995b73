// Steps that others have published, against the dry run: ring-bench published prints them.
#include "bench/published/published_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "bench/published/pipelined_runs.h"

namespace rm::bench {
namespace {

DeviceProfile profile_of(const PublishedRun& run) {
    const std::vector<DeviceProfile> profiles = published_profiles();
    return *std::ranges::find(profiles, run.profile, &DeviceProfile::name);
}

constexpr std::size_t kCudnn = 0, kFlash3 = 1, kFlash2 = 2;

double error_of(const PublishedRun& run, std::size_t kernels) {
    const DeviceProfile profile = with_attention(profile_of(run), kAttentionKernels[kernels]);
    EXPECT_TRUE(check_profile(profile).ok());
    return foretell(run, profile).value().step.value / run.seconds - 1;
}

TEST(PublishedRuns, AreForetoldWithThePublishedSpeedsOfTheirAttention) {
    double sum = 0;
    const std::vector<PublishedRun> runs = published_runs();
    for (const PublishedRun& run : runs) {
        const double error = error_of(run, kCudnn);
        std::cout << format("{} of {} tokens on {}: {:.1} %\n", run.name, run.context, run.devices,
                            100 * error);
        EXPECT_LT(std::abs(error), 0.15) << run.name;
        sum += std::abs(error);
    }
    EXPECT_LT(sum / static_cast<double>(runs.size()), 0.08);
}

// The kernels decide: those of another year are a third slower.
TEST(PublishedRuns, AreFarOffWithOtherKernels) {
    const PublishedRun run = published_runs().front();
    EXPECT_LT(error_of(run, kFlash3), error_of(run, kCudnn));
    EXPECT_GT(error_of(run, kFlash2), 0.3);
}

// One of Gradient's stages is beyond what a device can do; none of our predictions is.
TEST(PublishedThroughput, OfOneStageNeedsThreeQuartersOfThePeak) {
    const DeviceProfile l40s = published_profiles().front();
    for (const PublishedThroughput& stage : gradient_stages()) {
        const Prediction ours = foretell(stage, l40s).value();
        const double per_token = ours.model_flops / ours.tokens;
        const double published = per_token * stage.tokens_per_sec / l40s.peak_flops;
        EXPECT_EQ(published > 0.5, stage.context == 1'048'576) << published;
        EXPECT_NEAR(ours.tokens_per_sec / stage.devices * per_token / l40s.peak_flops,
                    ours.causal_mfu, 1e-6);
        EXPECT_LT(ours.causal_mfu, 0.5);
    }
}

DeviceProfile h100() {
    const std::vector<DeviceProfile> profiles = published_profiles();
    return *std::ranges::find(profiles, "H100", &DeviceProfile::name);
}

// A device does not reach 60 % of its peak, and a formula that leaves nothing out twice does not
// say half of what was published. The errors themselves are printed and not held.
TEST(PipelinedRuns, AreWithinWhatTheDevicesCanDo) {
    const DeviceProfile profile = with_attention(h100(), kAttentionKernels[kCudnn]);
    for (const PipelinedRun& run : llama3_runs()) {
        const PipelinedStep step = pipelined_step(run, profile);
        EXPECT_LT(step.flops_per_sec, 0.6 * profile.peak_flops) << run.devices;
        EXPECT_GT(step.flops_per_sec, run.published / 2) << run.devices;
    }
}

// The bubble alone separates 8,192 devices from twice as many, which have half of the batches
// each: 430 and 400 TFLOP/s.
TEST(PipelinedRuns, LoseToTheBubbleWhatWasPublished) {
    const std::vector<PipelinedRun> runs = llama3_runs();
    const double ours = pipelined_step(runs[1], h100()).flops_per_sec /
                        pipelined_step(runs[0], h100()).flops_per_sec;
    EXPECT_NEAR(ours, runs[1].published / runs[0].published, 0.025);
    EXPECT_EQ(pipelined_step(runs[0], h100()).layer.context, 0);
    EXPECT_GT(pipelined_step(runs[2], h100()).layer.context, 0);
}

// Version 1 of table 4 has 4 data ranks in the row of 128K, half of the devices it names.
TEST(PipelinedRuns, RefuseMeshesThatAreNotTheDevices) {
    PipelinedRun run = llama3_runs().back();
    run.data = 4;
    EXPECT_ANY_THROW(pipelined_step(run, h100()));
}

}  // namespace
}  // namespace rm::bench
