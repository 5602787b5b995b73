#pragma once

#include "tests/e2e/support/e2e_test.h"
#include "tests/support/gpu_file.h"

namespace rm::e2e {

// A machine whose GPUs are those of a file: NVML and NCCL are stand-ins, and librm_cuda.so is the
// emulator's library. The programs cannot tell.
class GpuMachineTest : public E2eTest {
protected:
    void SetUp() override {
#ifndef RM_HAS_EMULATOR
        GTEST_SKIP() << "this build has no emulator";
#else
        programs_ = path("bin");
        std::filesystem::create_directories(programs_);
        for (const char* name : {"ringmaster", "ringmaster-controller", "ringmaster-worker",
                                 "ring-train", "librm_emu.so"})
            place(std::string(RM_BIN_DIR) + "/" + name, name);
        place(std::string(RM_BIN_DIR) + "/librm_emu.so", "librm_cuda.so");
        ::setenv("LD_LIBRARY_PATH", RM_STANDINS, 1);
        ::setenv("RM_STANDIN_NVML", path("nvml.json").c_str(), 1);
#endif
    }
    void TearDown() override {
        ::unsetenv("LD_LIBRARY_PATH");
        ::unsetenv("RM_STANDIN_NVML");
        ::unsetenv("RM_STANDIN_NCCL");
    }

    // A program finds its library beside its own file, so links do not do.
    void place(const std::string& from, const std::string& name) {
        std::error_code failure;
        std::filesystem::remove(path("bin/" + name));
        std::filesystem::create_hard_link(from, path("bin/" + name), failure);
        if (failure) std::filesystem::copy_file(from, path("bin/" + name));
    }

    void show_machine(const Json& machine) {
        test::show_machine(path("nvml.json"), machine);
    }
};

}  // namespace rm::e2e
