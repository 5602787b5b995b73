#include "service/job_file/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/job_file/job_file.h"

namespace rm {
namespace {

using testing::HasSubstr;

std::string job_with(const std::string& stages) {
    return "name: x\nmodel: {preset: llama3-8b}\ndata: {path: /data}\nstages: " + stages + "\n";
}

Result<JobSpec> parse(const std::string& stages, std::vector<std::string> overrides = {}) {
    return parse_job_file(job_with(stages), "job.yaml", {}, overrides);
}

std::string error_of(const std::string& stages, std::vector<std::string> overrides = {}) {
    const auto spec = parse(stages, std::move(overrides));
    return spec ? "" : spec.error().message;
}

TEST(Recipes, AreJobFilesWithTheirOwnNames) {
    ASSERT_GE(kRecipes.size(), 4u);
    for (const Recipe& recipe : kRecipes) {
        const auto spec = parse_job_file(recipe.text, recipe.name);
        ASSERT_TRUE(spec) << spec.error().message;
        EXPECT_EQ(spec->name, recipe.name);
        EXPECT_THAT(std::string(recipe.about()), HasSubstr("tokens in ")) << recipe.name;
        EXPECT_THAT(std::string(recipe.text), HasSubstr("\n# Published for ")) << recipe.name;
        EXPECT_THAT(std::string(recipe.text), HasSubstr("\n# Source")) << recipe.name;
        for (std::size_t i = 1; i < spec->stages.size(); ++i) {
            EXPECT_GE(spec->stages[i].context, spec->stages[i - 1].context);
            const StageSpec &stage = spec->stages[i], &before = spec->stages[i - 1];
            EXPECT_TRUE(stage.rope_theta > before.rope_theta ||
                        stage.rope_factor > before.rope_factor);
        }
    }
}

// The numbers of steps are those of the sources.
TEST(Recipes, HaveThePublishedSteps) {
    const auto steps_of = [](std::string_view name) {
        std::vector<std::int64_t> steps;
        const JobSpec spec = parse_job_file(find_recipe(name)->text, name).value();
        for (const StageSpec& stage : spec.stages)
            steps.push_back(stage.num_steps());
        return steps;
    };
    EXPECT_THAT(steps_of("gradient-8b-1m"), testing::ElementsAre(30, 24, 50, 50));
    EXPECT_THAT(steps_of("gradient-70b-512k"), testing::ElementsAre(20, 25, 25));
    EXPECT_THAT(steps_of("prolong-8b-512k"), testing::ElementsAre(5000, 2500));
    EXPECT_THAT(steps_of("yarn-7b-128k"), testing::ElementsAre(400, 200));
    EXPECT_THAT(steps_of("easycontext-7b-512k"),
                testing::ElementsAre(1000, 1000, 500, 500, 150, 300, 90));
}

TEST(Recipes, GiveAJobTheirStages) {
    const auto spec = parse("{recipe: gradient-8b-1m}");
    ASSERT_TRUE(spec) << spec.error().message;
    const Recipe recipe = find_recipe("gradient-8b-1m").value();
    EXPECT_EQ(spec->stages, parse_job_file(recipe.text, recipe.name)->stages);
    EXPECT_EQ(spec->name, "x") << "and nothing else";
    const auto changed = parse("{recipe: gradient-8b-1m}", {"stages.1.learning_rate=3e-5"});
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(changed->stages[1].learning_rate, 3e-5);
    EXPECT_EQ(changed->stages[0].learning_rate, 2e-5);
}

TEST(Recipes, SayWhatIsWrongAndWhere) {
    EXPECT_EQ(error_of("{recipe: books}"),
              "job.yaml:4:18: stages.recipe: there is no recipe 'books' (there are "
              "easycontext-7b-512k, gradient-70b-512k, gradient-8b-1m, prolong-8b-512k, "
              "yarn-7b-128k)");
    EXPECT_THAT(error_of("{recipe: prolong-8b-521k}"),
                HasSubstr("did you mean 'prolong-8b-512k'?"));
    EXPECT_THAT(error_of("{recipes: prolong-8b-512k}"),
                HasSubstr("stages.recipes: unknown key; did you mean 'recipe'?"));
    EXPECT_THAT(error_of("{recipe: prolong-8b-512k, context: 8K}"),
                HasSubstr("stages.context: unknown key"));
    EXPECT_THAT(error_of("{recipe: prolong-8b-512k}", {"stages.0.batch=100"}),
                HasSubstr("--set stages.0.batch=100: stages[0].batch: 100 is not a multiple"));
    EXPECT_EQ(error_of("{recipe: prolong-8b-512k}", {"stages.1.context=24K"}),
              "prolong-8b-512k: stages[1].batch: 8388608 is not a multiple of the context 24576; "
              "the nearest: 8380416 or 8404992");
}

}  // namespace
}  // namespace rm
