#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/schedule/device_profile_json.h"
#include "tests/worker/support.h"
#include "worker/agent/attempts.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/child.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"
#include "worker/profile/kept_profiles.h"
#include "worker/profile/profile_child.h"

namespace rm {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::vector<std::string> kFails = {"/bin/false"};

std::string worker_path() {
    return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" /
            "ringmaster-worker")
        .string();
}

class KeptProfiles : public ::testing::Test {
protected:
    ProfileTerms terms(ProfileMode mode, std::vector<std::string> command) const {
        return {.mode = mode,
                .dir = temp_.path() + "/profiles",
                .command = std::move(command),
                .driver = "570.86.10",
                .build = "0123",
                .live_attempt = live_attempt_in(temp_.path()),
                .budget = {},
                .why_stopped = [] { return ""; }};
    }
    // A child that leaves a mark.
    std::vector<std::string> marks() const { return {"/bin/sh", "-c", "touch " + mark_}; }
    bool is_marked() const { return fs::exists(mark_); }

    std::string keep(const std::string& kind) const {
        const std::string path = kept_profile_path(terms(ProfileMode::automatic, {}), kind);
        fs::create_directories(temp_.path() + "/profiles");
        EXPECT_TRUE(write_device_profile(path, published_profiles().front()).ok());
        return path;
    }

    const TempDir temp_;
    const std::string mark_ = temp_.path() + "/mark";
    const std::vector<DeviceInfo> l40s_{{.index = 0, .kind = "L40S"}, {.index = 1, .kind = "L40S"}};
};

TEST_F(KeptProfiles, AWorkerMeasuresADeviceInAChildOfItself) {
    const std::vector<DeviceInfo> devices{{.kind = "emu", .memory = {std::int64_t{64} << 20}}};
    const auto paths =
        measured_profiles(devices, terms(ProfileMode::now, {worker_path(), "profile"}));
    ASSERT_TRUE(paths) << paths.error().message;
    ASSERT_TRUE(paths->contains("emu"))
        << *read_text_file(temp_.path() + "/profiles/emu-570.86.10-0123.json.log");
    const auto profile = read_device_profile(paths->at("emu").path);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_THAT(profile->provenance,
                HasSubstr("measured: ringmaster-worker, emulated GPU, driver 570.86.10, 20"));
    EXPECT_EQ(profile->memory, Bytes{std::int64_t{64} << 20});
    EXPECT_EQ(paths->at("emu").profile, (MeasuredProfile{"emu", "570.86.10", "0123",
                                                         profile->peak_flops, to_json(*profile)}));
}

TEST_F(KeptProfiles, ACpuSlotIsMeasuredInAPrecisionWhereItIsAskedFor) {
    const std::vector<DeviceInfo> devices{{.kind = "cpu", .num_threads = 1}};
    ProfileTerms now = terms(ProfileMode::now, {worker_path(), "profile"});
    now.compute = Precision::fp32;
    const auto kept = measured_profiles(devices, now);
    ASSERT_TRUE(kept->contains("cpu"))
        << *read_text_file(temp_.path() + "/profiles/cpu-570.86.10-0123.json.log");
    const auto profile = read_device_profile(kept->at("cpu").path);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->compute, DType::f32);
    EXPECT_GT(profile->peak_flops, 1e8);
    EXPECT_EQ(measured_profiles(devices, terms(ProfileMode::automatic, marks()))->size(), 1u)
        << "what is kept counts";
    EXPECT_FALSE(is_marked());
}

TEST_F(KeptProfiles, AKindIsMeasuredOncePerDriverAndBuild) {
    const std::string path = keep("L40S");
    EXPECT_EQ(path, temp_.path() + "/profiles/L40S-570.86.10-0123.json");
    const auto kept = measured_profiles(l40s_, terms(ProfileMode::automatic, marks()));
    EXPECT_EQ(kept->at("L40S").path, path);
    EXPECT_FALSE(is_marked());
    ProfileTerms later = terms(ProfileMode::automatic, marks());
    later.driver = "580.1";
    EXPECT_TRUE(measured_profiles(l40s_, later)->empty()) << "the child leaves no profile";
    EXPECT_TRUE(is_marked());
}

TEST_F(KeptProfiles, AnUnreadableProfileIsMeasuredAgain) {
    std::ofstream(keep("L40S")) << "{}";
    EXPECT_TRUE(measured_profiles(l40s_, terms(ProfileMode::automatic, marks()))->empty());
    EXPECT_TRUE(is_marked());
}

TEST_F(KeptProfiles, AFailureOrATimeOutKeepsNoWorkerFromStarting) {
    const auto failed = measured_profiles(l40s_, terms(ProfileMode::automatic, kFails));
    ASSERT_TRUE(failed);
    EXPECT_TRUE(failed->empty());
    ProfileTerms slow = terms(ProfileMode::automatic, {"/bin/sh", "-c", "sleep 100"});
    slow.limit = {0.05};
    EXPECT_TRUE(measured_profiles(l40s_, slow)->empty());
}

TEST_F(KeptProfiles, OffMeasuresNothingAndNowMeasuresWhatIsKept) {
    EXPECT_TRUE(measured_profiles(l40s_, terms(ProfileMode::off, marks()))->empty());
    EXPECT_FALSE(is_marked());
    const std::string path = keep("L40S");
    EXPECT_EQ(measured_profiles(l40s_, terms(ProfileMode::off, marks()))->at("L40S").path, path);
    EXPECT_EQ(measured_profiles(l40s_, terms(ProfileMode::now, marks()))->at("L40S").path, path);
    EXPECT_TRUE(is_marked());
}

TEST_F(KeptProfiles, EmulatedDevicesAndCpuSlotsAreNotMeasuredUnasked) {
    const std::vector<DeviceInfo> devices{{.kind = "emu"}, {.kind = "cpu"}};
    EXPECT_TRUE(measured_profiles(devices, terms(ProfileMode::automatic, marks()))->empty());
    EXPECT_FALSE(is_marked());
}

TEST_F(KeptProfiles, AnUnfitDeviceIsNotMeasuredAndAFitOneOfItsKindIs) {
    std::vector<DeviceInfo> devices = l40s_;
    devices[0].unfit = "busy: 12.3 GiB by pid 4242 (python)";
    EXPECT_TRUE(measured_profiles(devices, terms(ProfileMode::automatic, marks()))->empty());
    EXPECT_TRUE(is_marked());
    fs::remove(mark_);
    devices[1].unfit = "lost";
    EXPECT_TRUE(measured_profiles(devices, terms(ProfileMode::automatic, marks()))->empty());
    EXPECT_FALSE(is_marked());
}

TEST_F(KeptProfiles, NothingIsMeasuredWhileAnAttemptRuns) {
    const AttemptDir dir = AttemptDir::of_epoch(temp_.path() + "/attempts", {7});
    fs::create_directories(dir.path());
    const auto lock = LiveLock::take(dir.live_lock());
    ASSERT_TRUE(lock);
    EXPECT_EQ(live_attempt_in(temp_.path()), dir.path());
    EXPECT_TRUE(measured_profiles(l40s_, terms(ProfileMode::automatic, marks()))->empty());
    EXPECT_FALSE(is_marked());
    const auto refused = measured_profiles(l40s_, terms(ProfileMode::now, marks()));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              format("--profile now: a job runs here ({}); wait for its end, or leave the option "
                     "out",
                     dir.path()));
}

TEST_F(KeptProfiles, AWorkerThatIsAskedToStopEndsItsChild) {
    const Status stopped = run_child({.argv = {"/bin/sh", "-c", "sleep 100"},
                                      .log = temp_.path() + "/log",
                                      .limit = {60},
                                      .why_stopped = [] { return "the end"; }});
    EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
    EXPECT_EQ(stopped.error().message, "the end");
    const Status failed = run_child({.argv = {"/bin/sh", "-c", "echo no driver; exit 3"},
                                     .log = temp_.path() + "/log",
                                     .limit = {60},
                                     .why_stopped = [] { return ""; }});
    EXPECT_EQ(failed.error().message, "it ended with exit code 3: no driver");
}

TEST(ProfileRequest, ComesBackAsItWasWritten) {
    const ProfileRequest request{.device = {DeviceLibrary::emu, 3},
                                 .uuid = "GPU-1",
                                 .numa_node = 1,
                                 .memory = {5},
                                 .num_threads = 2,
                                 .num_slots = 2,
                                 .compute = Precision::fp32,
                                 .driver = "570",
                                 .path = "/a b/\"c\"",
                                 .budget = {2.5}};
    EXPECT_EQ(parse_profile_request(to_json(request)).value(), request);
    EXPECT_EQ(parse_profile_request("{}").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace rm
