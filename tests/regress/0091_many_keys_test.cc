// A job file of 90,000 keys took 28 s of CPU: each key was compared with all before it, and an
// error of syntax at its end looked for each line from the file's beginning.
#include <gmock/gmock.h>

#include <ctime>

#include "base/format.h"
#include "service/job_file/job_file.h"
#include "service/job_file/yaml_tree.h"

namespace rm {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kKeys = 90'000;

std::string many_keys() {
    std::string text;
    for (int i = 0; i < kKeys; ++i)
        text += format("k{}: \n", i);
    return text;
}

double cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Comparing each with each takes 4 billion comparisons.
class Regress0091 : public testing::Test {
protected:
    ~Regress0091() override {
#ifndef RM_SANITIZED
        EXPECT_LT(cpu_seconds() - start_, 4);
#endif
    }
    const double start_ = cpu_seconds();
};

TEST_F(Regress0091, ManyKeysAreReadInTimeOfTheirNumber) {
    const auto root = parse_yaml(many_keys(), "f.yaml");
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(root->entries.size(), static_cast<std::size_t>(kKeys));
}

TEST_F(Regress0091, ASecondOneOfTheFirstKeyIsFound) {
    const auto root = parse_yaml(many_keys() + "k0: 1\n", "f.yaml");
    ASSERT_FALSE(root);
    EXPECT_EQ(root.error().message, format("f.yaml:{}:1: k0: the key is already given at line 1, "
                                           "column 1; keep one",
                                           kKeys + 1));
}

TEST_F(Regress0091, AnErrorOfSyntaxBehindThemIsTold) {
    const auto root = parse_yaml(many_keys() + "a: b: c\n", "f.yaml");
    ASSERT_FALSE(root);
    EXPECT_THAT(root.error().message, StartsWith(format("f.yaml:{}:", kKeys + 1)));
}

TEST_F(Regress0091, ManyUnknownKeysAreToldByTheirNumberAndAFewOfThem) {
    const auto spec = parse_job_file(many_keys(), "job.yaml");
    ASSERT_FALSE(spec);
    EXPECT_THAT(
        spec.error().message,
        StartsWith("job.yaml:1:1: 90000 unknown keys, such as:\njob.yaml:1:1: k0: unknown"));
    EXPECT_EQ(std::count(spec.error().message.begin(), spec.error().message.end(), '\n'), 20);
}

}  // namespace
}  // namespace rm
