#include "cli/slurm/batch_script.h"

#include <gtest/gtest.h>

#include "cli/shell.h"

namespace rm {
namespace {

BatchSettings settings_of(const std::string& job_file) {
    return {.programs = "/opt/it's here/bin",
            .directory = "/home/ann/run 1",
            .state = "",
            .devices = "auto",
            .ports = "0",
            .set = {"name=$(x)", "seed=2"},
            .job_name = "demo",
            .job_file = job_file};
}

// Whether bash reads the script, and what `then` prints after the settings of it.
std::string after_settings(const std::string& script, const std::string& then) {
    const std::size_t end = script.find("# settings: end");
    const auto output =
        output_of("SLURM_JOB_ID=77 bash -uc " + shell_word(script.substr(0, end) + then));
    return output ? *output : output.error().message;
}

TEST(BatchScript, HoldsSettingsThatBashReadsAsTheyAre) {
    const auto script = batch_script(kBatchTemplate, settings_of("name: demo\n"));
    ASSERT_TRUE(script) << script.error().message;
    EXPECT_EQ(after_settings(*script, "echo \"$programs|$directory|$state|${set[*]}\""),
              "/opt/it's here/bin|/home/ann/run 1|/home/ann/run 1/ringmaster-77|"
              "--set name=$(x) --set seed=2\n");
    EXPECT_NE(script->find("#SBATCH --job-name=demo\n"), std::string::npos);
    EXPECT_TRUE(output_of("bash -n -c " + shell_word(*script)));
}

TEST(BatchScript, KeepsTheJobFileByteForByte) {
    const std::string job = "name: 'a'  # $HOME `id` \\\nset: \"$1\"\n";
    const auto script = batch_script(kBatchTemplate, settings_of(job));
    ASSERT_TRUE(script);
    EXPECT_EQ(after_settings(*script, "job_file"), job);
    const auto unended = batch_script(kBatchTemplate, settings_of("name: a"));
    ASSERT_TRUE(unended);
    EXPECT_EQ(after_settings(*unended, "job_file"), "name: a\n");
}

TEST(BatchScript, RefusesAJobFileThatWouldEndItself) {
    const auto script =
        batch_script(kBatchTemplate, settings_of("name: a\nEND_OF_THE_JOB_FILE\nrm -rf /\n"));
    ASSERT_FALSE(script);
    EXPECT_EQ(script.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace rm
