#include "spec/evaluation/suite_spec.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

std::string refused(const SuiteSpec& suite) {
    const Status status = check_suites({suite});
    return status ? "" : status.error().message;
}

TEST(SuiteSpec, RefusesWhatNoSuiteCanBe) {
    EXPECT_EQ(refused({}), "");
    EXPECT_EQ(refused({.suite = SuiteKind::ruler, .lengths = {4096, 131072}, .tasks = {"vt"}}), "");
    EXPECT_EQ(refused({.every_steps = -1}),
              "evaluate.suites[0].every: -1 steps must not be negative");
    EXPECT_EQ(refused({.lengths = {4096, 0}}),
              "evaluate.suites[0].lengths: 0 tokens; 1 to 1099511627776");
    EXPECT_EQ(refused({.depths = 0}), "evaluate.suites[0].depths: 0; at least 1");
    EXPECT_EQ(refused({.samples = -1}), "evaluate.suites[0].samples: -1; at least 1");
    EXPECT_EQ(refused({.distractors = 40}), "evaluate.suites[0].distractors: 40; 0 to 39");
    EXPECT_EQ(refused({.digits = 16}), "evaluate.suites[0].digits: 16; 1 to 15");
    EXPECT_EQ(refused({.tasks = {"vt"}}),
              "evaluate.suites[0].tasks: are of the suite ruler, and this is niah");
    EXPECT_EQ(refused({.suite = SuiteKind::ruler, .tasks = {"qa_1"}})
                  .find("evaluate.suites[0].tasks: there is no task 'qa_1'; niah_single_1, "),
              0u);
    EXPECT_EQ(refused({.lengths = std::vector<std::int64_t>(500, 4096)}),
              "evaluate.suites[0].lengths: the grid has 2500 fields; at most 2000");
    EXPECT_EQ(refused({.name = "a b"}),
              "evaluate.suites[0].name: 'a b' must be up to 63 letters, digits, '_', '-' or '.'");
}

TEST(SuiteSpec, HasANameOfItsOwn) {
    EXPECT_TRUE(check_suites({{}, {.suite = SuiteKind::ruler}, {.name = "far"}}).ok());
    EXPECT_EQ(check_suites({{}, {.name = "niah"}}).error().message,
              "evaluate.suites[1].name: 'niah' is there twice; name one of them");
    EXPECT_EQ(check_suites(std::vector<SuiteSpec>(17)).error().message,
              "evaluate.suites: 17; at most 16");
}

TEST(SuiteSpec, SpansTheTrainedContextUnlessItSaysOtherwise) {
    EXPECT_EQ(suite_lengths({}, 4096), (std::vector<std::int64_t>{1024, 2048, 4096}));
    EXPECT_EQ(suite_lengths({.lengths = {7}}, 4096), (std::vector<std::int64_t>{7}));
    EXPECT_EQ(suite_tokens({.depths = 2, .samples = 3}, 4096), 7 * 1024 * 2 * 3);
    EXPECT_EQ(suite_tokens({.suite = SuiteKind::ruler, .lengths = {100}}, 4096), 100 * 11 * 10);
    EXPECT_EQ(suite_samples({}), 4);
    EXPECT_EQ(suite_samples({.suite = SuiteKind::ruler}), 10);
    EXPECT_EQ(suite_samples({.samples = 2}), 2);
}

TEST(PromptSpec, RefusesWhatNoPromptCanBe) {
    const auto refused = [](const PromptSpec& prompt) {
        const Status status = check_prompts({{.prompt = "a"}, prompt});
        return status ? "" : status.error().message;
    };
    EXPECT_EQ(refused({.prompt = "b", .tokens = 1000, .temperature = 2, .top_p = 0.1}), "");
    EXPECT_EQ(refused({}), "evaluate.prompts[1].prompt: is empty");
    EXPECT_EQ(refused({.prompt = "b", .tokens = 1001}),
              "evaluate.prompts[1].tokens: 1001; 1 to 1000");
    EXPECT_EQ(refused({.prompt = "b", .temperature = -1}),
              "evaluate.prompts[1].temperature: -1; 0, which is greedy, or more");
    EXPECT_EQ(refused({.prompt = "b", .top_p = 0}),
              "evaluate.prompts[1].top_p: 0; above 0, up to 1");
}

}  // namespace
}  // namespace rm
