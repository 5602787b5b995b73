#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "service/job_file/job_file.h"

namespace rm {
namespace {

std::string contents(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

TEST(Examples, AllAreValidJobFiles) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(RM_EXAMPLES)) {
        if (entry.path().extension() != ".yaml") continue;
        const auto spec = parse_job_file(contents(entry.path()), entry.path().string());
        EXPECT_TRUE(spec) << spec.error().message;
        ++count;
    }
    EXPECT_GE(count, 2);
}

Result<JobSpec> example(const std::string& name) {
    const std::filesystem::path path = std::filesystem::path(RM_EXAMPLES) / name;
    return parse_job_file(contents(path), path.string());
}

// 1,500 updates of 1,024 tokens end below the bigram entropy; 100 of 8,192 do not.
TEST(Examples, QuickstartIsARingThatLearns) {
    const auto spec = example("quickstart.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->parallel->size(Axis::ring), 2);
    EXPECT_GE(spec->num_steps(), 1500);
}

TEST(Examples, LongContextIsARingOfFourOverEightThousandTokens) {
    const auto spec = example("long_context.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->parallel->size(Axis::ring), 4);
    EXPECT_GE(spec->stages[0].context, 8192);
}

TEST(Examples, AxesIsEveryAxisAtOnceOnSixteenRanks) {
    const std::filesystem::path path = std::filesystem::path(RM_EXAMPLES) / "axes.yaml";
    const auto spec = parse_job_file(contents(path), path.string());
    ASSERT_TRUE(spec) << spec.error().message;
    for (const Axis axis : kAxes)
        EXPECT_EQ(spec->parallel->size(axis), 2) << to_string(axis);
    EXPECT_EQ(spec->zero, 3);
    EXPECT_EQ(spec->data.documents, Documents::separate);
}

}  // namespace
}  // namespace rm
