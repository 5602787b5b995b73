#include "kernels/cuda/matmul/tuning_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/temp_dir.h"

namespace rm {
namespace {

constexpr TunedAlgorithm kOne = {1, 2, 3, 4, 5, 6, 7, 0xffffffffffffffff};
constexpr TunedAlgorithm kOther = {8, 7, 6, 5, 4, 3, 2, 0};

std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

class TuningFiles : public testing::Test {
protected:
    TempDir dir_;
    std::string path_ = dir_.file("tuning");
};

TEST_F(TuningFiles, GiveALaterRunTheAlgorithmsOfThisOne) {
    {
        TuningFile file(path_, "lib 1 on gpu");
        EXPECT_EQ(file.find("m 1 n 2"), std::nullopt);
        file.add("m 1 n 2", kOne);
        file.add("m 3 n 4", kOther);
    }
    TuningFile later(path_, "lib 1 on gpu");
    EXPECT_EQ(later.find("m 1 n 2"), kOne);
    EXPECT_EQ(later.find("m 3 n 4"), kOther);
    EXPECT_EQ(later.find("m 1 n 4"), std::nullopt);
}

TEST_F(TuningFiles, OfAnotherLibraryOrDeviceAreReplaced) {
    TuningFile(path_, "lib 1 on gpu").add("m 1", kOne);
    TuningFile other(path_, "lib 2 on gpu");
    EXPECT_EQ(other.find("m 1"), std::nullopt);
    other.add("m 2", kOther);
    EXPECT_EQ(TuningFile(path_, "lib 1 on gpu").find("m 1"), std::nullopt);
    EXPECT_EQ(TuningFile(path_, "lib 2 on gpu").find("m 2"), kOther);
}

TEST_F(TuningFiles, DamagedLinesArePassedOver) {
    TuningFile(path_, "lib").add("whole", kOne);
    dir_.write("tuning", contents(path_) + "torn: 12 34\nno colon\nodd: 1 2 3 4 5 6 7 z\n");
    const TuningFile file(path_, "lib");
    EXPECT_EQ(file.find("whole"), kOne);
    EXPECT_EQ(file.find("torn"), std::nullopt);
    EXPECT_EQ(file.find("odd"), std::nullopt);
}

TEST_F(TuningFiles, WithoutAPathOrAPlaceRememberForThemselves) {
    for (const std::string& path : {std::string(), dir_.file("nowhere/tuning")}) {
        TuningFile file(path, "lib");
        file.add("m 1", kOne);
        EXPECT_EQ(file.find("m 1"), kOne);
    }
}

}  // namespace
}  // namespace rm
