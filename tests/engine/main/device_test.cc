// Asks the real ring-train for a GPU on a machine without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
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

TEST_F(RingTrainDevice, IsAGpuForNccl) {
    const Finished cpu =
        ring_train(config("bf16", R"({"ranks": "processes", "transport": "nccl"})"));
    EXPECT_EQ(cpu.code, 2);
    EXPECT_THAT(cpu.output, HasSubstr("nccl joins processes that each have a GPU; ranks on the "
                                      "CPU take local or gloo"));
}

#ifdef RM_STANDINS
// Returns the loss of the first step.
double loss_over(const std::string& transport, const std::string& path) {
    const Finished run = ring_train(path);
    EXPECT_EQ(run.code, 0) << transport << run.output;
    const std::size_t at = run.output.find("loss ");
    return at == std::string::npos ? 0 : std::stod(run.output.substr(at + 5));
}

// Sums over NCCL have another order than over gloo, so the losses are close and not equal.
TEST_F(RingTrainDevice, IsAnEmulatedGpuThatTrainsOverNcclAndOverGloo) {
    ::setenv("LD_LIBRARY_PATH", RM_STANDINS, 1);
    const auto loss = [&](const std::string& transport) {
        return loss_over(transport, config("bf16", R"({"ranks": "processes", "device": "emu",
                                                       "transport": ")" +
                                                       transport + "\"}"));
    };
    const double over_gloo = loss("gloo");
    EXPECT_GT(over_gloo, 4);
    EXPECT_NEAR(loss("nccl"), over_gloo, 1e-3 * over_gloo);
}

TEST_F(RingTrainDevice, SaysThatNcclIsMissing) {
    ::setenv("LD_LIBRARY_PATH", dir_.path().c_str(), 1);
    dir_.write("libnccl.so.2", "not a library");
    const Finished run = ring_train(
        config("bf16", R"({"ranks": "processes", "device": "emu", "transport": "nccl"})"));
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.output, HasSubstr("no NCCL: libnccl.so.2 cannot be opened"));
}
#endif

TEST_F(RingTrainDevice, IsOneThatIsKnown) {
    const Finished run = ring_train(config("bf16", "{}") + " --device tpu");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.output, HasSubstr("device 'tpu' is not known; cpu, cuda, cuda:N or emu:N"));
    EXPECT_EQ(ring_train(config("bf16", R"({"device": "cuda:x"})")).code, 2);
}

}  // namespace
}  // namespace rm
