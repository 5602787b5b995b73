// Runs examples/first_steps.json, the first job of scripts/quickstart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/run_program.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

// Returns the number after the last occurrence of `word`.
double number_after(const std::string& text, const std::string& word) {
    const std::size_t at = text.rfind(word);
    if (at == std::string::npos) return 0;
    return std::stod(text.substr(at + word.size()));
}

TEST(FirstSteps, LearnsMoreThanHowOftenEachByteOccurs) {
    if (!std::filesystem::exists("/usr/share/doc/python3/html/_sources")) {
        GTEST_SKIP() << "the text is not here (python3-doc)";
    }
    const test::Finished run = test::run_program(RM_RING_TRAIN, RM_FIRST_STEPS);
    ASSERT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr("step 20/20"));
    EXPECT_GT(number_after(run.output, "step 20: "), 1) << run.output;
    EXPECT_LT(number_after(run.output, "step 20: "), number_after(run.output, "unigram "))
        << run.output;
}

}  // namespace
}  // namespace rm
