#include <gtest/gtest.h>

#include "service/job_file/job_file.h"

// `wandb` was answered with "the nearest known is 'name'", `lr` with 'batch'; `1,024` in braces
// with "024: unknown key"; a tab with "illegal block entry"; only one of three errors was reported.
namespace rm {
namespace {

std::string error_of(const std::string& text) {
    const auto spec = parse_job_file(text, "job.yaml");
    return spec ? "no error" : spec.error().message;
}

std::string job(const std::string& stage, const std::string& more = "") {
    return "name: demo\nmodel: {preset: micro}\ndata: {path: text}\nstages: [{" + stage + "}]\n" +
           more;
}

constexpr const char* kStage = "context: 1K, batch: 1K, tokens: 1M, learning_rate: 1e-3";

TEST(Regress, KeysOfOtherTrainersAreExplainedNotGuessedAt) {
    for (const auto& [key, cure] : std::vector<std::pair<std::string, std::string>>{
             {"lr", "`learning_rate` of a stage"},
             {"cp", "parallel: {ring: N}"},
             {"tp", "parallel: {tensor: N}"},
             {"dp", "parallel: {data: N}"},
             {"sp", "parallel: {ring: N}"},
             {"steps", "steps times its `batch`"},
             {"epochs", "epochs times"},
             {"gpus", "resources: {devices: N}"},
             {"wandb", "`history` the last of each attempt"},
             {"gradient_accumulation", "`batch` of a stage"},
             {"micro_batch", "`batch` of a stage"}}) {
        const std::string error = error_of(job(kStage, key + ": 2\n"));
        EXPECT_EQ(error.find("job.yaml:5:1: " + key + ": unknown key; "), 0u) << error;
        EXPECT_NE(error.find(cure), std::string::npos) << error;
        EXPECT_EQ(error.find("did you mean"), std::string::npos) << error;
    }
}

TEST(Regress, ACommaInANumberIsNamed) {
    const std::string error = error_of(job("context: 1,024, batch: 1K, tokens: 1M"));
    EXPECT_NE(error.find("write numbers without commas"), std::string::npos) << error;
    EXPECT_EQ(error.find("unknown key"), std::string::npos) << error;
}

TEST(Regress, ATabIsNamed) {
    EXPECT_EQ(error_of("name: a\nstages:\n\t- {context: 1K}\n"),
              "job.yaml:3:1: a tab indents this line, which YAML forbids; indent with blanks");
}

TEST(Regress, EverythingThatIsWrongIsToldAtOnce) {
    const std::string error = error_of(
        "nmae: demo\nmodel: {preset: micro}\ndata: {path: text}\nseed: x\n"
        "stages: [{context: 1K, batch: 1K, tokens: 1M, learning_rate: fast}]\n");
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 2) << error;
    for (const char* part : {"job.yaml:1:1: nmae", "job.yaml:4:7: seed", "job.yaml:5:"})
        EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_EQ(error.find("required key"), std::string::npos) << "a misspelt key is not missing";
}

TEST(Regress, AnOverrideIsCheckedLikeTheFileAndNamedWhenItIsWrong) {
    const std::vector<std::string> good = {"stages.0.learning_rate=2e-4", "resources.devices=2",
                                           "parallel={ring: 2}"};
    const auto spec = parse_job_file(job(kStage), "job.yaml", "", good);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->stages[0].learning_rate, 2e-4);
    EXPECT_EQ(spec->resources.devices, 2);
    const auto wrong = [](const std::string& set) {
        const std::vector<std::string> sets = {set};
        const auto spec = parse_job_file(job(kStage), "job.yaml", "", sets);
        return spec ? "no error" : spec.error().message;
    };
    EXPECT_EQ(wrong("stages.0.contxt=4K")
                  .find("--set stages.0.contxt=4K: stages[0].contxt: unknown key; did you mean "
                        "'context'?"),
              0u)
        << wrong("stages.0.contxt=4K");
    EXPECT_EQ(wrong("stages.4.context=4K"),
              "--set stages.4.context=4K: stages has no item '4'; its items are 0 to 0");
    EXPECT_EQ(wrong("=4K").find("--set =4K: write KEY=VALUE"), 0u);
    EXPECT_NE(wrong("stages.0.batch=1000").find("--set stages.0.batch=1000: "), std::string::npos)
        << wrong("stages.0.batch=1000");
}

}  // namespace
}  // namespace rm
