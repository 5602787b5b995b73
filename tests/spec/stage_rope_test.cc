#include "spec/rope/stage_rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rm {
namespace {

JobSpec two_stages() {
    JobSpec spec;
    spec.stages = {{.context = 1024}, {.context = 65536}};
    return spec;
}

TEST(StageRope, IsTheModelsUnlessTheStageChangesIt) {
    const ModelConfig model = find_preset("llama3-8b").value();
    JobSpec spec = two_stages();
    EXPECT_EQ(stage_rope(model, spec, 1), model.rope);
    EXPECT_FALSE(has_own_rope(spec.stages[1]));
    spec.stages[1].rope_theta = 8e6;
    RopeConfig changed = model.rope;
    changed.theta = 8e6;
    EXPECT_EQ(stage_rope(model, spec, 1), changed);
    EXPECT_TRUE(has_own_rope(spec.stages[1]));
}

// 8 x 8192 tokens, and 128 numbers of a head: 500000 x 8^(128 / 126).
TEST(StageRope, ComputesABaseThatStretchesTheLongestWave) {
    const ModelConfig model = find_preset("llama3-8b").value();
    JobSpec spec = two_stages();
    for (StageSpec& stage : spec.stages)
        stage.rope_theta = kAutoTheta;
    const RopeConfig rope = stage_rope(model, spec, 1);
    EXPECT_NEAR(rope.theta, 500000 * std::pow(8, 128.0 / 126), 1e-6);
    const auto longest = [&](double theta) { return std::pow(theta, 126.0 / 128); };
    EXPECT_NEAR(longest(rope.theta), 8 * longest(500000), 1e-6 * longest(rope.theta));
    EXPECT_EQ(stage_rope(model, spec, 0).theta, 500000) << "shorter than it was pretrained";
    // A model that does not say was pretrained by the first stage.
    const ModelConfig micro = find_preset("micro").value();
    EXPECT_EQ(pretrained_context(micro, spec), 1024);
    EXPECT_EQ(stage_rope(micro, spec, 0).theta, micro.rope.theta);
    EXPECT_NEAR(stage_rope(micro, spec, 1).theta, micro.rope.theta * std::pow(64, 16.0 / 14), 1e-6);
}

TEST(StageRope, StretchesPositions) {
    const ModelConfig model = find_preset("llama2-7b").value();
    JobSpec spec = two_stages();
    StageSpec& stage = spec.stages[1];
    stage.rope = StageRope::yarn;
    RopeConfig rope = stage_rope(model, spec, 1);
    EXPECT_EQ(rope,
              (RopeConfig{
                  .type = RopeType::yarn, .theta = 10000, .factor = 16, .original_context = 4096}));
    EXPECT_TRUE(validate(rope, model.head_dim).ok());
    EXPECT_EQ(rope_text(rope), "yarn, base 10000, factor 16 over 4096 tokens");
    stage.rope_factor = 32;
    EXPECT_EQ(stage_rope(model, spec, 1).factor, 32);
    stage.rope = StageRope::linear;
    stage.rope_theta = 50000;
    rope = stage_rope(model, spec, 1);
    EXPECT_EQ(rope, (RopeConfig{.type = RopeType::linear, .theta = 50000, .factor = 32}));
    EXPECT_TRUE(validate(rope, model.head_dim).ok());
    stage.rope = StageRope::standard;
    stage.rope_factor = 0;
    EXPECT_EQ(stage_rope(model, spec, 1), (RopeConfig{.theta = 50000}));
}

}  // namespace
}  // namespace rm
