// The main of every test program: measures the program's CPU seconds, its children's too, writes
// them into the XML (cpu_seconds), and fails when they are far beyond the budget that CTest passes
// (rm_test's CPU_SECONDS).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "base/format.h"

namespace rm {
namespace {

constexpr double kFarBeyond = 3;  // a machine may be slower, or busy and hot

double cpu_seconds(int who) {
    rusage usage{};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class CpuBudget : public testing::Environment {
public:
    void TearDown() override {
        const double used = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
        testing::Test::RecordProperty("cpu_seconds", format("{:.2}", used));
        const char* budget = std::getenv("RM_CPU_SECONDS");
        if (budget == nullptr) return;
        EXPECT_LE(used, kFarBeyond * std::atof(budget))
            << "CPU seconds of this program; its budget is " << budget
            << ": make it cheaper, or raise CPU_SECONDS where CMake declares it";
    }
};

}  // namespace
}  // namespace rm

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    testing::AddGlobalTestEnvironment(new rm::CpuBudget);
    return RUN_ALL_TESTS();
}
