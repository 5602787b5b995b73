#include <gtest/gtest.h>

#include <filesystem>

#include "engine/schedule/device_profile_json.h"

namespace rm {
namespace {

// A profile in which every op has the same speed.
DeviceProfile plain_profile() {
    DeviceProfile profile{.name = "plain", .provenance = "made up", .peak_flops = 1e12};
    for (const std::string_view op : profiled_ops())
        profile.ops.push_back({.op = std::string(op), .points = {{1, 1e9}}});
    return profile;
}

OpSpeed& speed_in(DeviceProfile& profile, std::string_view op) {
    return *std::find_if(profile.ops.begin(), profile.ops.end(),
                         [op](const OpSpeed& speed) { return speed.op == op; });
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

std::string error_of(std::string_view json) {
    const auto profile = device_profile_from_json(json);
    return profile ? "none" : profile.error().message;
}

TEST(DeviceProfile, OfEveryPublishedMachineSurvivesJsonToTheBit) {
    const auto profiles = published_profiles();
    EXPECT_EQ(profiles.size(), 4U);
    for (const DeviceProfile& profile : profiles) {
        SCOPED_TRACE(profile.name);
        const auto read = device_profile_from_json(to_json(profile));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, profile);
        EXPECT_NE(profile.provenance.find("Assumed"), std::string::npos);
    }
}

TEST(DeviceProfile, IsWrittenAndReadBack) {
    const std::string path = ::testing::TempDir() + "/device_profile_test.json";
    ASSERT_TRUE(write_device_profile(path, plain_profile()).ok());
    const auto read = read_device_profile(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, plain_profile());
    std::filesystem::remove(path);
    EXPECT_NE(read_device_profile(path).error().message.find(path), std::string::npos);
}

TEST(DeviceProfile, KeepsTheRatesOfCopiesThatShareALink) {
    DeviceProfile profile = plain_profile();
    EXPECT_EQ(to_json(profile).find("transfers"), std::string::npos) << "as older files";
    profile.transfers = {.both_ways = {20e9, 21e9},
                         .busy_devices = 3,
                         .busy = {6e9, 7.5e9},
                         .busy_both_ways = {4e9, 5e9}};
    const auto read = device_profile_from_json(to_json(profile));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, profile);
    const std::string good = to_json(profile);
    EXPECT_EQ(error_of(replaced(good, "[6000000000.0,7500000000.0]", "[6e9]")),
              "transfers: rates are [upload, download]");
    EXPECT_EQ(error_of(replaced(good, "[6000000000.0,7500000000.0]", "[-1,7]")),
              "transfers: busy is -1 and 7; bytes a second, 0: not measured");
    EXPECT_EQ(error_of(replaced(good, ",\"busy_devices\":3", "")),
              "transfers: 'busy_devices' is missing");
}

TEST(DeviceProfile, NamesWhatIsWrongWithItsFile) {
    const std::string good = to_json(plain_profile());
    EXPECT_EQ(error_of(good), "none");
    EXPECT_EQ(error_of(good.substr(1)), format("is not JSON ({} bytes)", good.size() - 1));
    EXPECT_EQ(error_of(replaced(good, "peak_flops", "peek_flops")),
              "a device profile: 'peak_flops' is missing");
    EXPECT_EQ(error_of(replaced(good, "{", "{\"colour\": 1,")),
              "a device profile: 'colour' is an unknown key; known here: compute, "
              "fp8_peak_flops, held_bytes, memory_bytes, name, ops, peak_flops, prepared_copies, "
              "provenance, transfers");
    EXPECT_EQ(error_of(replaced(good, "\"head_dim\":0", "\"head_dim\":0.5")),
              "an op: 'head_dim' is 0.5, not a whole number of 64 bits");
    EXPECT_EQ(error_of(replaced(good, "\"f32\"", "\"f31\"")), "compute 'f31'; f64, f32 or bf16");
    EXPECT_EQ(error_of(replaced(good, "\"rope_table\"", "\"rope_tables\"")),
              "rope_tables is no op");
}

TEST(DeviceProfile, NamesAFigureThatCannotBe) {
    const auto error_with = [](auto change) {
        DeviceProfile profile = plain_profile();
        change(profile);
        return error_of(to_json(profile));
    };
    EXPECT_EQ(error_with([](auto& p) { p.ops.pop_back(); }), "no speed of download");
    EXPECT_EQ(error_with([](auto& p) { p.ops.push_back(p.ops.front()); }),
              "the speeds of linear_fwd stand apart");
    EXPECT_EQ(error_with([](auto& p) { speed_in(p, "add").points[0].per_sec = 0; }),
              "add: speed 0 at size 1");
    EXPECT_EQ(error_with([](auto& p) { speed_in(p, "add").points.clear(); }), "add: no points");
    EXPECT_EQ(error_with([](auto& p) {
                  speed_in(p, "add").points = {{8, 1}, {8, 2}};
              }),
              "add: size 8 after 8; sizes ascend from above 0");
}

TEST(DeviceProfile, TakesOverheadAndTheSpeedOfTheSize) {
    DeviceProfile profile = plain_profile();
    OpSpeed& add = speed_in(profile, "add");
    add.overhead = Seconds{1e-6};
    add.points = {{100, 10}, {10000, 30}};
    const auto seconds = [&](double size) {
        return seconds_of(profile, "add", {.amount = 60, .size = size}).value;
    };
    EXPECT_DOUBLE_EQ(seconds(1), 1e-6 + 6);
    EXPECT_DOUBLE_EQ(seconds(100), 1e-6 + 6);
    EXPECT_DOUBLE_EQ(seconds(1000), 1e-6 + 3) << "half way in the logarithm";
    EXPECT_DOUBLE_EQ(seconds(1e9), 1e-6 + 2);
    EXPECT_DOUBLE_EQ(seconds_of(profile, "add", {}).value, 1e-6);
}

TEST(DeviceProfile, TakesTheTimeBetweenThoseOfTheNextHeadDims) {
    DeviceProfile profile = plain_profile();
    OpSpeed& narrow = speed_in(profile, "attention_fwd");
    narrow.head_dim = 64;
    OpSpeed wide = narrow;
    wide.head_dim = 128;
    wide.points = {{1, 2e9}};
    profile.ops.insert(std::next(profile.ops.begin(), &narrow - profile.ops.data() + 1), wide);
    ASSERT_TRUE(check_profile(profile).ok()) << check_profile(profile).error().message;
    const auto seconds = [&](std::int64_t head_dim) {
        return seconds_of(profile, "attention_fwd",
                          {.amount = 1e9, .size = 1, .head_dim = head_dim})
            .value;
    };
    EXPECT_DOUBLE_EQ(seconds(32), 1);
    EXPECT_DOUBLE_EQ(seconds(64), 1);
    EXPECT_DOUBLE_EQ(seconds(96), 0.75);
    EXPECT_DOUBLE_EQ(seconds(128), 0.5);
    EXPECT_DOUBLE_EQ(seconds(256), 0.5);
}

}  // namespace
}  // namespace rm
