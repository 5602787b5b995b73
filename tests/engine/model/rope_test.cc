#include "engine/model/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/ref/ref_kernels.h"

namespace rm {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kHeadDim = 16;

RopeConfig rope_of(RopeType type) {
    RopeConfig rope{.type = type, .theta = 500000};
    if (type != RopeType::standard) rope.factor = 4;
    if (type != RopeType::standard && type != RopeType::linear) rope.original_context = 8192;
    if (type == RopeType::longrope) {
        rope.short_factor = std::vector<double>(kHeadDim / 2, 1.25);
        rope.long_factor = {1, 1.5, 2, 3, 5, 8, 13, 21};
    }
    return rope;
}

TEST(Rope, TheBaseAloneGivesPowersOfTheta) {
    const RopeFrequencies f = rope_frequencies({.theta = 10000}, 8, 100);
    ASSERT_EQ(f.inv_freq.size(), 4u);
    EXPECT_EQ(f.attention_factor, 1);
    EXPECT_DOUBLE_EQ(f.inv_freq[0], 1);
    EXPECT_DOUBLE_EQ(f.inv_freq[1], 0.1);
    EXPECT_DOUBLE_EQ(f.inv_freq[2], 0.01);
    EXPECT_DOUBLE_EQ(f.inv_freq[3], 0.001);
}

TEST(Rope, LinearDividesEveryFrequency) {
    const RopeFrequencies f =
        rope_frequencies({.type = RopeType::linear, .theta = 10000, .factor = 4}, 8, 100);
    EXPECT_DOUBLE_EQ(f.inv_freq[0], 0.25);
    EXPECT_DOUBLE_EQ(f.inv_freq[3], 0.00025);
}

TEST(Rope, DynamicChangesNothingUpToThePretrainedLengthAndTheBaseBeyond) {
    const RopeConfig rope = rope_of(RopeType::dynamic);
    const RopeFrequencies plain = rope_frequencies({.theta = rope.theta}, kHeadDim, 1);
    EXPECT_EQ(rope_frequencies(rope, kHeadDim, 8192).inv_freq, plain.inv_freq);
    // Twice the length at factor 4: the base times (4 * 2 - 3)^(16 / 14).
    const double theta = rope.theta * std::pow(5.0, 16.0 / 14);
    const RopeFrequencies twice = rope_frequencies({.theta = theta}, kHeadDim, 1);
    EXPECT_EQ(rope_frequencies(rope, kHeadDim, 16384).inv_freq, twice.inv_freq);
}

TEST(Rope, YarnKeepsFastPairsInterpolatesSlowOnesAndScalesAttention) {
    const RopeConfig rope = rope_of(RopeType::yarn);
    const RopeFrequencies plain = rope_frequencies({.theta = rope.theta}, kHeadDim, 1);
    const RopeFrequencies f = rope_frequencies(rope, kHeadDim, 1);
    EXPECT_DOUBLE_EQ(f.inv_freq.front(), plain.inv_freq.front());
    EXPECT_DOUBLE_EQ(f.inv_freq.back(), plain.inv_freq.back() / 4);
    EXPECT_DOUBLE_EQ(f.attention_factor, 0.1 * std::log(4) + 1);
    for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
        EXPECT_LE(f.inv_freq[i], plain.inv_freq[i]);
        EXPECT_GE(f.inv_freq[i], plain.inv_freq[i] / 4);
    }
}

TEST(Rope, YarnTakesItsAttentionFactorFromTheFirstOfThreePlaces) {
    RopeConfig rope = rope_of(RopeType::yarn);
    rope.mscale = 0.5;
    rope.mscale_all_dim = 2;
    EXPECT_DOUBLE_EQ(rope_frequencies(rope, kHeadDim, 1).attention_factor,
                     (0.05 * std::log(4) + 1) / (0.2 * std::log(4) + 1));
    rope.attention_factor = 1.5;
    EXPECT_EQ(rope_frequencies(rope, kHeadDim, 1).attention_factor, 1.5);
}

TEST(Rope, YarnWithoutTruncationMovesTheRamp) {
    RopeConfig rope = rope_of(RopeType::yarn);
    const RopeFrequencies whole = rope_frequencies(rope, kHeadDim, 1);
    rope.truncate = false;
    EXPECT_NE(rope_frequencies(rope, kHeadDim, 1).inv_freq, whole.inv_freq);
}

TEST(Rope, LongropeSwitchesItsDivisorsAtThePretrainedLength) {
    const RopeConfig rope = rope_of(RopeType::longrope);
    const RopeFrequencies plain = rope_frequencies({.theta = rope.theta}, kHeadDim, 1);
    const RopeFrequencies at = rope_frequencies(rope, kHeadDim, 8192);
    const RopeFrequencies beyond = rope_frequencies(rope, kHeadDim, 8193);
    for (std::size_t i = 0; i < plain.inv_freq.size(); ++i) {
        EXPECT_DOUBLE_EQ(at.inv_freq[i], plain.inv_freq[i] / 1.25);
        EXPECT_DOUBLE_EQ(beyond.inv_freq[i], plain.inv_freq[i] / rope.long_factor[i]);
    }
    EXPECT_DOUBLE_EQ(at.attention_factor, std::sqrt(1 + std::log(4) / std::log(8192)));
    EXPECT_EQ(beyond.attention_factor, at.attention_factor);
}

TEST(Rope, Llama3KeepsShortWavesStretchesLongOnesAndBlendsBetween) {
    // Llama 3.1: theta 500000, factor 8, 1 and 4 turns over 8192 positions, D = 128.
    const RopeConfig rope{
        .type = RopeType::llama3, .theta = 500000, .factor = 8, .original_context = 8192};
    const RopeFrequencies plain = rope_frequencies({.theta = 500000}, 128, 1);
    const RopeFrequencies f = rope_frequencies(rope, 128, 1);
    const double position_turns = 8192 / (2 * std::acos(-1.0));
    int kept = 0, blended = 0, stretched = 0;
    for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
        const double turns = position_turns * plain.inv_freq[i];
        if (turns > 4) {
            ++kept;
            EXPECT_EQ(f.inv_freq[i], plain.inv_freq[i]);
        } else if (turns < 1) {
            ++stretched;
            EXPECT_EQ(f.inv_freq[i], plain.inv_freq[i] / 8);
        } else {
            ++blended;
            const double share = (turns - 1) / 3;
            EXPECT_NEAR(f.inv_freq[i] / plain.inv_freq[i], (1 - share) / 8 + share, 1e-12);
        }
    }
    EXPECT_GT(kept, 0);
    EXPECT_GT(blended, 0);
    EXPECT_GT(stretched, 0);
}

// Returns the largest distance of a backend's tables at `position` from cos and sin of the
// unreduced angle in long double.
double worst_error(Kernels& kernels, const RopeFrequencies& f, std::int64_t position) {
    const auto stream = kernels.device().make_stream("compute");
    const auto half = static_cast<std::int64_t>(f.inv_freq.size());
    const DType accum = kernels.types().accum;
    const Tensor cos(kernels.device(), MemoryKind::activations, accum, {1, half});
    const Tensor sin(kernels.device(), MemoryKind::activations, accum, {1, half});
    const std::vector<Run> runs = {{0, position, 1}};
    kernels.run(RopeTable{.runs = runs,
                          .inv_freq = f.inv_freq,
                          .scale = f.attention_factor,
                          .cos = cos,
                          .sin = sin},
                *stream);
    stream->synchronize();
    const auto at = [&](const TensorView& x, std::size_t i) {
        return accum == DType::f64 ? x.as<double>()[i] : static_cast<double>(x.as<float>()[i]);
    };
    double worst = 0;
    for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
        const long double angle = static_cast<long double>(position) * f.inv_freq[i];
        const auto exact_cos = static_cast<double>(f.attention_factor * std::cos(angle));
        const auto exact_sin = static_cast<double>(f.attention_factor * std::sin(angle));
        worst =
            std::max({worst, std::abs(at(cos, i) - exact_cos), std::abs(at(sin, i) - exact_sin)});
    }
    return worst;
}

TEST(Rope, AnglesAreRightAtPositionFourMillionForEveryType) {
    constexpr std::int64_t kPosition = 4'000'000;
    const auto ref = make_ref_kernels();
    const auto cpu = make_cpu_kernels({.num_threads = 1});
    for (const auto& [type, word] : vocabulary_of(RopeType{}).words) {
        const RopeFrequencies f = rope_frequencies(rope_of(type), kHeadDim, kPosition + 1);
        // Allows for the angle's own rounding in fp64: half an ulp of four million radians.
        EXPECT_LE(worst_error(*ref, f, kPosition), 1e-9) << to_string(type);
        EXPECT_LE(worst_error(*cpu, f, kPosition), 2e-7) << to_string(type);
    }
}

TEST(RopeConfig, RefusesValuesNoFormulaTakes) {
    const auto error = [](RopeType type, const std::function<void(RopeConfig&)>& change,
                          std::int64_t head_dim = kHeadDim) {
        RopeConfig rope = rope_of(type);
        EXPECT_TRUE(validate(rope, kHeadDim).ok()) << to_string(type);
        change(rope);
        const Status status = validate(rope, head_dim);
        return status ? std::string("valid") : status.error().message;
    };
    const auto nothing = [](RopeConfig&) {};
    EXPECT_THAT(error(RopeType::standard, [](RopeConfig& r) { r.theta = 1; }),
                HasSubstr("rope_theta: 1 must be"));
    EXPECT_THAT(error(RopeType::standard, [](RopeConfig& r) { r.theta = NAN; }),
                HasSubstr("rope_theta"));
    EXPECT_THAT(error(RopeType::linear, [](RopeConfig& r) { r.factor = 0.5; }),
                HasSubstr("factor: 0.5"));
    EXPECT_THAT(error(RopeType::dynamic, [](RopeConfig& r) { r.original_context = 0; }),
                HasSubstr("original_max_position_embeddings: 0"));
    EXPECT_THAT(error(RopeType::dynamic, nothing, 2), HasSubstr("head_dim: 2"));
    EXPECT_THAT(error(RopeType::yarn, [](RopeConfig& r) { r.beta_slow = 64; }),
                HasSubstr("beta_fast: 32 must not be below beta_slow 64"));
    EXPECT_THAT(error(RopeType::yarn, [](RopeConfig& r) { r.mscale = 1; }), HasSubstr("mscale"));
    EXPECT_THAT(error(RopeType::yarn, [](RopeConfig& r) { r.attention_factor = 0; }),
                HasSubstr("attention_factor: 0"));
    EXPECT_THAT(error(RopeType::longrope, [](RopeConfig& r) { r.long_factor.pop_back(); }),
                HasSubstr("long_factor: 7 numbers; head_dim 16 takes 8"));
    EXPECT_THAT(error(RopeType::longrope, [](RopeConfig& r) { r.short_factor[3] = -1; }),
                HasSubstr("short_factor: -1"));
    EXPECT_THAT(error(RopeType::llama3, [](RopeConfig& r) { r.high_freq_factor = 1; }),
                HasSubstr("high_freq_factor: 1 must be above"));
}

TEST(RopeConfig, TypesHaveTheirPublishedNamesAndSuIsLongrope) {
    for (const auto& [type, word] : vocabulary_of(RopeType{}).words)
        EXPECT_EQ(parse_rope_type(to_string(type)).value(), type);
    EXPECT_EQ(parse_rope_type("su").value(), RopeType::longrope);
    EXPECT_THAT(parse_rope_type("ntk").error().message, HasSubstr("'ntk' is not known; default"));
}

}  // namespace
}  // namespace rm
