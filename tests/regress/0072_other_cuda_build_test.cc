#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/device_library.h"

// librm_cuda.so reported the number 1 in every build, and its user compared it with 1: libraries of
// two builds mixed unnoticed, although objects with virtual functions pass between them. The
// library beside this test reports what the environment says.
namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(Regress0072, ALibraryOfAnotherBuildIsRefusedAndBothAreNamed) {
    ::setenv("RM_TEST_CUDA_BUILD", "0123456789abcdef", 1);
    const Status refused = check_device(DeviceLibrary::cuda, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_THAT(refused.error().message, HasSubstr("librm_cuda.so is of another build "
                                                   "(0123456789abcdef, this program is "));
    EXPECT_THAT(refused.error().message, HasSubstr(device_library_build()));
}

TEST(Regress0072, ALibraryOfTheSameBuildIsTaken) {
    ::setenv("RM_TEST_CUDA_BUILD", device_library_build(), 1);
    EXPECT_TRUE(check_device(DeviceLibrary::cuda, 0).ok());
}

TEST(Regress0072, ABuildIsAHash) {
    EXPECT_EQ(std::string(device_library_build()).find_first_not_of("0123456789abcdef"),
              std::string::npos);
    EXPECT_EQ(std::string(device_library_build()).size(), 16u);
}

}  // namespace
}  // namespace rm
