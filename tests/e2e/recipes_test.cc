#include <gmock/gmock.h>

#include "tests/e2e/support/e2e_test.h"

// Published recipes: what they would take on the machines that they were published for, and every
// stage of each at small size.
namespace rm::e2e {
namespace {

struct Published {
    const char* name;
    int stages;
    const char* machines;
};
constexpr Published kPublished[] = {{"gradient-8b-1m", 4, "L40S*32"},
                                    {"gradient-70b-512k", 3, "L40S*64"},
                                    {"prolong-8b-512k", 2, "H100*8"},
                                    {"easycontext-7b-512k", 7, "A100*8"},
                                    {"yarn-7b-128k", 2, "A100*8"}};

class Recipes : public LocalClusterTest {};

TEST_F(Recipes, AreListedAndShownAsJobFiles) {
    const Finished listed = cli({"recipe", "ls"});
    ASSERT_EQ(listed.code, 0) << listed.err;
    for (const Published& recipe : kPublished) {
        EXPECT_NE(listed.out.find(recipe.name), std::string::npos);
        const Finished shown = cli({"recipe", "show", recipe.name});
        EXPECT_EQ(shown.code, 0) << shown.err;
        EXPECT_NE(shown.out.find("stages:\n"), std::string::npos) << shown.out;
    }
    EXPECT_EQ(cli({"recipe", "show", "gradient"}).code, 3);
}

// On fewer than the 512 that two recipes end with, whose plans take a minute (docs/recipes.md).
TEST_F(Recipes, HaveAVerdictOnTheMachinesTheyWerePublishedFor) {
    for (const Published& recipe : kPublished) {
        const std::string file = path(std::string(recipe.name) + ".yaml");
        write_file(file, cli({"recipe", "show", recipe.name}).out);
        const Finished planned =
            cli({"plan", file, "--on", recipe.machines, "--plans", "1"}, Seconds{120});
        std::cout << recipe.name << " on " << recipe.machines << ":\n"
                  << planned.out << planned.err;
        EXPECT_EQ(planned.code, 0) << planned.err;
    }
}

TEST_F(Recipes, TrainTwoStepsOfEachStageAtSmallSize) {
    for (const Published& recipe : kPublished) {
        std::vector<std::string> submit = {
            "submit",
            write_job({.stages = format("  recipe: {}\n", recipe.name), .parallel = "{ring: 2}"})};
        for (int i = 0; i < recipe.stages; ++i) {
            const int context = 128 << std::min(i, 3);
            for (const std::string& set :
                 {format("context={}", context), format("batch={}", context),
                  format("tokens={}", 2 * context), std::string("warmup=0 steps")})
                submit.insert(submit.end(), {"--set", format("stages.{}.{}", i, set)});
        }
        const Finished submitted = here(submit);
        ASSERT_EQ(submitted.code, 0) << submitted.err;
        const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
        ASSERT_TRUE(wait_for_state(state_, id, "succeeded", Seconds{120})) << recipe.name;
        EXPECT_EQ(show(state_, id)["numSteps"], 2 * recipe.stages) << recipe.name;
    }
}

}  // namespace
}  // namespace rm::e2e
