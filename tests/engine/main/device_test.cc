// Asks the real ring-train for a GPU on a machine without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/device_library.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using test::Finished;

Finished ring_train(const std::string& arguments) {
    return test::run_program(RM_RING_TRAIN, arguments);
}

class RingTrainDevice : public testing::Test {
protected:
    RingTrainDevice() { dir_.write("data/a.txt", test::some_text(1, 600)); }
    // Writes a configuration of two ranks and one step; returns its path.
    std::string config(const std::string& precision, const std::string& engine) {
        dir_.write("config.json",
                   R"({"name": "x", "model": {"preset": "micro"}, "parallel": {"ring": 2},
                       "memory": {"tile": 64},
                       "stages": [{"context": 128, "batch": 128, "tokens": 128}],
                       "data": {"path": ")" +
                       dir_.file("data") + R"("}, "precision": ")" + precision +
                       R"(", "engine": )" + engine + "}");
        return dir_.file("config.json");
    }
    static bool has_device() { return check_device(DeviceLibrary::cuda, 0).ok(); }
    TempDir dir_;
};

TEST_F(RingTrainDevice, SaysWhatIsMissingForCudaAndOffersTheCpu) {
    if (has_device()) GTEST_SKIP() << "a CUDA device is here";
    for (const char* engine : {R"({})", R"({"ranks": "processes"})"}) {
        const Finished run = ring_train(config("bf16", engine) + " --device cuda");
        EXPECT_EQ(run.code, 1) << run.output;
        EXPECT_THAT(run.output, AllOf(HasSubstr("no CUDA device: "), HasSubstr("--device cpu")));
        // The message appears once, not once per rank.
        EXPECT_EQ(run.output.find("no CUDA device"), run.output.rfind("no CUDA device"))
            << run.output;
    }
    const Finished run = ring_train(config("bf16", R"({"device": "cuda:1"})"));
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.output, HasSubstr(RM_EXPECTED_REASON));
}

TEST_F(RingTrainDevice, OnTheCommandLineIsStrongerThanTheConfigurations) {
    const Finished run = ring_train(config("bf16", R"({"device": "cuda"})") + " --device cpu");
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr("step 1/1"));
}

TEST_F(RingTrainDevice, RefusesAPrecisionThatCudaDoesNotCompute) {
    const Finished run = ring_train(config("fp32", "{}") + " --device cuda");
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.output, HasSubstr("precision fp32: the cuda device computes in bf16"));
}

TEST_F(RingTrainDevice, IsOneThatIsKnown) {
    const Finished run = ring_train(config("bf16", "{}") + " --device tpu");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.output, HasSubstr("device 'tpu' is not known; cpu, cuda or cuda:N"));
    EXPECT_EQ(ring_train(config("bf16", R"({"device": "cuda:x"})")).code, 2);
}

}  // namespace
}  // namespace rm
