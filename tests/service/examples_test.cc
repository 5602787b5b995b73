#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "service/job_file.h"

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

TEST(Examples, QuickstartIsARingOfFourOverALongContext) {
    const std::filesystem::path path = std::filesystem::path(RM_EXAMPLES) / "quickstart.yaml";
    const auto spec = parse_job_file(contents(path), path.string());
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->parallel->size(Axis::ring), 4);
    EXPECT_GE(spec->stages[0].context, 8192);
    EXPECT_GE(spec->num_steps(), 100);
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
