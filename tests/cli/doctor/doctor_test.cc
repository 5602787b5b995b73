#include <gtest/gtest.h>

#include "cli/doctor/checks.h"
#include "cli/doctor/facts.h"
#include "cli/doctor/installed.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

const DriverFacts kNoGpu;
const DriverFacts kGpu = {.present = true, .cuda = 13010, .error = "", .devices = {"NVIDIA L40S"}};

TEST(Doctor, ToleratesAMachineWithoutGpus) {
    EXPECT_EQ(check_driver(kNoGpu).verdict, Verdict::warn);
    EXPECT_EQ(check_cuda_library({}, kNoGpu).verdict, Verdict::warn);
    EXPECT_EQ(check_memory_lock({.soft = 8 << 20, .hard = 8 << 20}, kNoGpu).verdict, Verdict::ok);
}

TEST(Doctor, WantsWhatGpusNeed) {
    EXPECT_EQ(check_driver(kGpu).text, "serves CUDA 13.1, 1 x NVIDIA L40S");
    EXPECT_EQ(check_cuda_library({}, kGpu).verdict, Verdict::fail);
    EXPECT_EQ(check_cuda_library({"/opt/librm_cuda.so", "no such symbol"}, kGpu).verdict,
              Verdict::fail);
    EXPECT_EQ(check_memory_lock({.soft = 8 << 20, .hard = kUnlimited}, kGpu).text,
              "limit 8.0 MiB (hard unlimited)");
    EXPECT_EQ(check_memory_lock({.soft = 8 << 20, .hard = kUnlimited}, kGpu).verdict,
              Verdict::warn);
    const DriverFacts broken = {.present = true, .cuda = 0, .error = "error 999", .devices = {}};
    EXPECT_EQ(check_driver(broken).verdict, Verdict::fail);
}

TEST(Doctor, KnowsTheVersionsOfNcclAndCuda) {
    EXPECT_EQ(check_nccl({"libnccl.so.2", 22803}).text, "libnccl.so.2 is NCCL 2.28.3");
    EXPECT_EQ(check_nccl({}).verdict, Verdict::ok) << "ranks do not use it";
    EXPECT_EQ(check_cuda_runtime({"libcudart.so.13", 13000}, kGpu).text,
              "libcudart.so.13 is CUDA 13.0");
    EXPECT_EQ(check_cuda_runtime({}, kNoGpu).verdict, Verdict::warn);
    const DriverFacts old = {.present = true, .cuda = 12040, .error = "", .devices = {"L40S"}};
    const Check newer = check_cuda_runtime({"libcudart.so.13", 13000}, old);
    EXPECT_EQ(newer.verdict, Verdict::fail);
    EXPECT_EQ(newer.text, "libcudart.so.13 is CUDA 13.0, the driver serves 12.4");
}

// One library of the test replaces all of NVIDIA's.
TEST(Doctor, AsksTheLibrariesThemselves) {
    const GpuLibraries fake{RM_FAKE_GPU, RM_FAKE_GPU, {"nowhere.so", RM_FAKE_GPU}};
    const DriverFacts driver = driver_facts(fake);
    EXPECT_TRUE(driver.present);
    EXPECT_EQ(driver.error, "");
    EXPECT_EQ(check_driver(driver).text, "serves CUDA 13.0, 2 x Fake L40S");
    EXPECT_EQ(nccl_facts(fake).version, 22803);
    EXPECT_EQ(cuda_runtime_facts(fake).version, 12090);
    EXPECT_EQ(cuda_runtime_facts(fake).library, RM_FAKE_GPU);
}

TEST(Doctor, SaysThatALibraryIsNotThere) {
    const GpuLibraries none{"no1.so", "no2.so", {"no3.so"}};
    EXPECT_FALSE(driver_facts(none).present);
    EXPECT_EQ(nccl_facts(none).library, "");
    EXPECT_EQ(cuda_runtime_facts(none).library, "");
}

TEST(Doctor, TellsOfDroppedTelemetry) {
    ControllerFacts facts = {.address = "unix:/c"};
    EXPECT_EQ(check_telemetry(facts).verdict, Verdict::ok);
    facts.telemetry_dropped = 12;
    EXPECT_EQ(check_telemetry(facts).verdict, Verdict::warn);
    EXPECT_NE(check_telemetry(facts).text.find("log pieces 12 times"), std::string::npos);
}

TEST(Doctor, ForgivesASkewWithinTheRoundTrip) {
    ControllerFacts facts = {.address = "unix:/c"};
    facts.round_trip = {3};
    facts.skew = Seconds{2};
    EXPECT_EQ(check_clock(facts).verdict, Verdict::ok);
    facts.round_trip = {0.01};
    EXPECT_EQ(check_clock(facts).verdict, Verdict::warn);
    EXPECT_EQ(check_clock(facts).text, "2.0 s behind the controller's");
    facts.skew = Seconds{-300};
    EXPECT_EQ(check_clock(facts).verdict, Verdict::fail);
    facts.skew.reset();
    EXPECT_EQ(check_clock(facts).verdict, Verdict::warn) << "nobody said a time";
}

TEST(Doctor, FailsForAControllerThatWasNamedAndIsNotThere) {
    ControllerFacts facts = {.address = "127.0.0.1:7070"};
    facts.error = make_error(ErrorCode::unavailable, "nobody is there");
    EXPECT_EQ(check_controller(facts).verdict, Verdict::warn);
    facts.named = true;
    EXPECT_EQ(check_controller(facts).verdict, Verdict::fail);
    EXPECT_EQ(check_controller(facts).text, "nobody is there");
}

TEST(Doctor, NoticesNodesOfSeveralBuilds) {
    ControllerFacts facts = {.address = "unix:/c"};
    facts.nodes = 3;
    facts.builds = 2;
    facts.drained = 1;
    const Check check = check_controller(facts);
    EXPECT_EQ(check.verdict, Verdict::warn);
    EXPECT_NE(check.text.find("3 nodes, 1 drained, of 2 builds"), std::string::npos) << check.text;
}

TEST(Doctor, JudgesDisksPortsAndFiles) {
    constexpr Bytes kTotal{std::int64_t{100} << 30};
    const auto disk = [&](std::int64_t gib, bool writable) {
        return check_disk({"/s", "/", Bytes{gib << 30}, kTotal, writable}).verdict;
    };
    EXPECT_EQ(disk(50, true), Verdict::ok);
    EXPECT_EQ(disk(5, true), Verdict::warn);
    EXPECT_EQ(disk(0, true), Verdict::fail);
    EXPECT_EQ(disk(50, false), Verdict::fail);
    EXPECT_EQ(check_port({7070, "gRPC", PortUse::blocked}).verdict, Verdict::warn);
    EXPECT_EQ(check_data_ports(7080, 7199, 0).verdict, Verdict::fail);
    EXPECT_EQ(check_data_ports(7080, 7199, 120).verdict, Verdict::ok);
    EXPECT_EQ(check_open_files({.soft = 256, .hard = 512}).verdict, Verdict::fail);
    EXPECT_EQ(check_open_files({.soft = 256, .hard = 9999}).verdict, Verdict::warn);
    EXPECT_EQ(check_open_files({.soft = 256, .hard = 10'000}).verdict, Verdict::ok);
    EXPECT_EQ(check_open_files({.soft = kUnlimited, .hard = kUnlimited}).verdict, Verdict::ok);
    EXPECT_EQ(check_programs({"ring-train"}).text, "not beside this program: ring-train");
}

TEST(Doctor, IsAsBadAsItsWorstCheck) {
    EXPECT_EQ(worst({}), Verdict::ok);
    EXPECT_EQ(worst({{"a", Verdict::fail, "", ""}, {"b", Verdict::warn, "", ""}}), Verdict::fail);
    EXPECT_EQ(checks_json({{"a", Verdict::warn, "b", "c"}}),
              R"([{"check":"a","verdict":"warn","text":"b","remedy":"c"}])");
}

TEST(Doctor, SaysNothingOfUnitsWhereThereAreNone) {
    const TempDir root;
    EXPECT_TRUE(check_installed(installed_facts(root.path())).empty());
}

TEST(Doctor, LooksAtUnitsAndConfigurationFiles) {
    const TempDir root;
    root.write("lib/systemd/system/ringmaster-controller.service", "");
    root.write("usr/lib/systemd/system/ringmaster-worker.service", "");
    root.write("etc/systemd/system/multi-user.target.wants/ringmaster-controller.service", "");
    root.write("etc/ringmaster/worker.yaml", "state: /s\n");
    const InstalledFacts installed = installed_facts(root.path());
    ASSERT_EQ(installed.units.size(), 2u);
    ASSERT_EQ(installed.files.size(), 1u);
    EXPECT_EQ(installed.files[0].path, root.file("etc/ringmaster/worker.yaml"));
    const std::vector<Check> checks = check_installed(installed);
    EXPECT_EQ(checks[0].verdict, Verdict::warn);
    EXPECT_EQ(checks[0].text, "ringmaster-controller, ringmaster-worker (not enabled)");
    EXPECT_NE(checks[0].remedy.find("a shutdown kills ranks"), std::string::npos);
}

TEST(Doctor, RepeatsTheFaultOfAFileAndMindsItsOwner) {
    const auto verdict_of = [](const ConfigFacts& file) {
        return check_installed({{}, {file}}).at(0);
    };
    EXPECT_EQ(verdict_of({"/c.yaml", "", false}).text, "/c.yaml is valid");
    EXPECT_EQ(verdict_of({"/c.yaml", "", true}).verdict, Verdict::warn);
    const Check wrong = verdict_of({"/c.yaml", "/c.yaml:3:1: unknown key 'lisen'", true});
    EXPECT_EQ(wrong.verdict, Verdict::fail);
    EXPECT_EQ(wrong.text, "/c.yaml:3:1: unknown key 'lisen'");
    EXPECT_EQ(verdict_of({"/c.yaml", "no", false}).text, "/c.yaml: no");
}

}  // namespace
}  // namespace rm
