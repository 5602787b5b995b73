// Steps that others have published, against the dry run: ring-bench published prints them.
#include "bench/engine/published_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

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

}  // namespace
}  // namespace rm::bench
