#include "engine/generate/token_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/usize.h"

namespace rm {
namespace {

std::map<std::int32_t, int> draw(const SamplingSpec& spec, const std::vector<double>& logits,
                                 int times) {
    TokenSampler sampler(spec);
    std::map<std::int32_t, int> counts;
    for (int i = 0; i < times; ++i)
        ++counts[sampler.choose(logits)];
    return counts;
}

TEST(TokenSampler, IsGreedyAtTemperatureZeroAndTakesTheFirstOfEquals) {
    TokenSampler sampler({});
    EXPECT_EQ(sampler.choose(std::vector<double>{1, 3, 2, 3}), 1);
    EXPECT_EQ(sampler.choose(std::vector<double>{-5, -6}), 0);
}

TEST(TokenSampler, DrawsWithTheProbabilitiesOfTheLogits) {
    constexpr int kDraws = 40'000;
    const std::vector<double> logits = {std::log(0.5) + 700, std::log(0.2) + 700,
                                        std::log(0.3) + 700};
    const auto counts = draw({.temperature = 1, .seed = 7}, logits, kDraws);
    const double expected[] = {0.5, 0.2, 0.3};
    for (int token = 0; token < 3; ++token) {
        const double p = expected[token];
        // Five standard deviations.
        EXPECT_NEAR(counts.at(token), p * kDraws, 5 * std::sqrt(kDraws * p * (1 - p))) << token;
    }
    // Half the temperature squares them.
    const auto colder = draw({.temperature = 0.5, .seed = 7}, logits, kDraws);
    const double p = 0.25 / (0.25 + 0.04 + 0.09);
    EXPECT_NEAR(colder.at(0), p * kDraws, 5 * std::sqrt(kDraws * p * (1 - p)));
}

TEST(TokenSampler, KeepsTheFewestTokensThatReachTopP) {
    const std::vector<double> logits = {std::log(0.1), std::log(0.6), std::log(0.3)};
    const auto kinds = [&](double top_p) {
        return draw({.temperature = 1, .top_p = top_p, .seed = 3}, logits, 4000).size();
    };
    EXPECT_EQ(kinds(0.5), 1u);
    EXPECT_EQ(kinds(0.61), 2u);
    EXPECT_EQ(kinds(0.89), 2u);
    EXPECT_EQ(kinds(0.95), 3u);
    EXPECT_EQ(kinds(1), 3u);
    const auto two = draw({.temperature = 1, .top_p = 0.7, .seed = 3}, logits, 30'000);
    EXPECT_NEAR(two.at(1), 20'000, 5 * std::sqrt(30'000 * 2.0 / 9));
}

TEST(TokenSampler, RepeatsItselfWithTheSameSeed) {
    const std::vector<double> logits(100, 0.0);
    const auto tokens = [&](std::uint64_t seed) {
        TokenSampler sampler({.temperature = 1, .seed = seed});
        std::vector<std::int32_t> all;
        for (int i = 0; i < 50; ++i)
            all.push_back(sampler.choose(logits));
        return all;
    };
    EXPECT_EQ(tokens(1), tokens(1));
    EXPECT_NE(tokens(1), tokens(2));
}

}  // namespace
}  // namespace rm
