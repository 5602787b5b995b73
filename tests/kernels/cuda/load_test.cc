#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/device_library.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(CudaLibrary, SaysWhatIsMissingAndThatTheCpuIsThere) {
    const auto kernels = load_device_kernels(DeviceLibrary::cuda, {});
    if (kernels) {
        EXPECT_EQ((*kernels)->name(), "cuda");
        return;
    }
    EXPECT_EQ(kernels.error().code, ErrorCode::unavailable);
    EXPECT_THAT(kernels.error().message, HasSubstr("no CUDA device: "));
    EXPECT_THAT(kernels.error().message, HasSubstr(RM_EXPECTED_REASON));
    EXPECT_THAT(kernels.error().message, HasSubstr("--device cpu"));
}

#ifdef RM_HAS_CUDA
// The program that loads the library can catch its exceptions by type.
TEST(CudaLibrary, ThrowsAcrossItsBoundary) {
    try {
        (void)load_device_kernels(DeviceLibrary::cuda, {.device = -1});
        FAIL() << "nothing was thrown";
    } catch (const CheckError& error) {
        EXPECT_THAT(error.what(), HasSubstr("device -1; CUDA counts from 0"));
    }
}

TEST(CudaLibrary, RefusesADeviceThatIsNotThere) {
    EXPECT_FALSE(load_device_kernels(DeviceLibrary::cuda, {.device = 1000}).ok());
}
#endif

}  // namespace
}  // namespace rm
