#include <gtest/gtest.h>

#include "service/gpu/fitness.h"
#include "tests/support/gpu_file.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using test::l40s;
using test::machine_of;
using Json = nlohmann::json;

class GpusTest : public testing::Test {
protected:
    GpusTest() { test::use_nvml(RM_STANDIN_NVML_LIBRARY, file_); }
    std::unique_ptr<Gpus> open(const Json& machine) {
        test::show_machine(file_, machine);
        auto gpus = open_gpus(dir_.path());
        RM_CHECK(gpus.ok(), "{}", gpus.error().message);
        return std::move(*gpus);
    }

    TempDir dir_;
    const std::string file_ = dir_.file("nvml.json");
};

TEST_F(GpusTest, ShowTenL40sWithEveryFact) {
    const auto gpus = open(machine_of(10));
    const std::vector<Gpu> all = gpus->list();
    ASSERT_EQ(all.size(), 10u);
    const Gpu& third = all[2];
    EXPECT_EQ(third.index, 2);
    EXPECT_EQ(third.memory, Bytes{std::int64_t{46068} << 20});
    EXPECT_EQ(third.facts.product, "NVIDIA L40S");
    EXPECT_EQ(third.facts.uuid, "GPU-00000002-0000-4000-8000-000000000000");
    EXPECT_EQ(third.facts.pci, "0000:43:00.0");
    EXPECT_EQ(third.facts.compute, "8.9");
    EXPECT_EQ(third.facts.power_limit_watts, 350);
    EXPECT_EQ(third.facts.numa_node, -1) << "this machine has no such PCI device";
    EXPECT_EQ(gpus->software(), (GpuSoftware{.driver = "570.86.10", .cuda = "12.8"}));
}

TEST_F(GpusTest, ReadTheStateOfAMoment) {
    Json machine = machine_of(1);
    Json& gpu = machine["gpus"][0];
    gpu["throttle"] = 0x1 | 0x4 | 0x40;
    gpu["uncorrected"] = 2;
    gpu["replays"] = 7;
    gpu["used_mib"] = 12595;
    gpu["processes"] = {{{"pid", 1}, {"memory_mib", 12595}}, {{"pid", 99999999}}};
    const GpuState state = open(machine)->state(0);
    EXPECT_EQ(state.temperature_celsius, 40);
    EXPECT_DOUBLE_EQ(state.watts, 36.5);
    EXPECT_DOUBLE_EQ(state.joules, 1000);
    EXPECT_EQ(state.throttled, (std::vector<std::string>{"power_cap", "hw_thermal"}));
    EXPECT_EQ(state.uncorrected_errors, 2);
    EXPECT_EQ(state.pcie_replays, 7);
    EXPECT_EQ(state.used, Bytes{std::int64_t{12595} << 20});
    ASSERT_EQ(state.processes.size(), 2u);
    EXPECT_FALSE(state.processes[0].name.empty()) << "pid 1 is there";
    EXPECT_EQ(state.processes[1].memory, Bytes{}) << "the driver does not say";
}

TEST_F(GpusTest, SeeEveryProcessHoweverManyThereAre) {
    Json machine = machine_of(1);
    for (int i = 0; i < 200; ++i)
        machine["gpus"][0]["processes"].push_back({{"pid", 90000000 + i}, {"memory_mib", 1}});
    EXPECT_EQ(open(machine)->state(0).processes.size(), 200u) << "a GPU with many is not free";
}

TEST_F(GpusTest, ReportEachXidOnce) {
    Json machine = machine_of(2);
    machine["gpus"][1]["xids"] = {13, 79};
    const auto gpus = open(machine);
    EXPECT_EQ(gpus->take_xids(), (std::vector<GpuXid>{{1, 13}, {1, 79}}));
    EXPECT_EQ(gpus->take_xids(), std::vector<GpuXid>{});
}

TEST_F(GpusTest, AGpuThatVanishesIsLostAndItsNeighboursAreNot) {
    Json machine = machine_of(2);
    const auto gpus = open(machine);
    EXPECT_FALSE(gpus->state(1).lost);
    machine["gpus"][1]["lost"] = true;
    test::show_machine(file_, machine);
    EXPECT_TRUE(gpus->state(1).lost);
    EXPECT_FALSE(gpus->state(0).lost);
}

TEST_F(GpusTest, ADriverThatDoesNotStartSaysWhy) {
    Json machine = machine_of(1);
    machine["init"] = 18;
    test::show_machine(file_, machine);
    const auto gpus = open_gpus();
    ASSERT_FALSE(gpus);
    EXPECT_EQ(gpus.error().message,
              "the NVIDIA driver does not start: Driver/library version mismatch");
}

TEST(Pci, TheKernelTellsTheNumaNodeAndTheBridge) {
    const TempDir sys;
    const std::string place = "devices/pci0000:40/0000:40:01.1/0000:41:00.0/0000:42:00.0";
    sys.write(place + "/numa_node", "1\n");
    std::filesystem::create_directories(sys.file("bus/pci/devices"));
    std::filesystem::create_symlink(sys.file(place), sys.file("bus/pci/devices/0000:42:00.0"));
    EXPECT_EQ(numa_node_of(sys.path(), "0000:42:00.0"), 1);
    EXPECT_EQ(host_bridge_of(sys.path(), "0000:42:00.0"), "0000:40:01.1");
    EXPECT_EQ(numa_node_of(sys.path(), "0000:99:00.0"), -1);
    EXPECT_EQ(host_bridge_of(sys.path(), "0000:99:00.0"), "");
}

TEST(Pci, AVirtualMachinesGpuHasNoBridge) {
    const TempDir sys;
    sys.write("devices/pci0000:00/0000:00:05.0/numa_node", "-1\n");
    std::filesystem::create_directories(sys.file("bus/pci/devices"));
    std::filesystem::create_symlink(sys.file("devices/pci0000:00/0000:00:05.0"),
                                    sys.file("bus/pci/devices/0000:00:05.0"));
    EXPECT_EQ(host_bridge_of(sys.path(), "0000:00:05.0"), "");
}

TEST(GpuKind, IsTheProductAsOneWord) {
    EXPECT_EQ(gpu_kind("NVIDIA L40S"), "L40S");
    EXPECT_EQ(gpu_kind("NVIDIA A100-SXM4-80GB"), "A100-SXM4-80GB");
    EXPECT_EQ(gpu_kind("NVIDIA H100 80GB HBM3"), "H100-80GB-HBM3");
    EXPECT_EQ(gpu_kind("Tesla T4"), "Tesla-T4");
}

TEST(Fitness, AWholeGpuIsFit) {
    EXPECT_EQ(unfit_reason({}, {}, false), "");
}

TEST(Fitness, HardwareXidsAndLostGpusAreNamed) {
    EXPECT_EQ(unfit_reason({.lost = true}, {79}, false),
              "Xid 79: it has fallen off the bus; reset it or restart the machine");
    EXPECT_EQ(unfit_reason({.lost = true}, {}, true),
              "lost: it answers no more; restart the machine");
    EXPECT_TRUE(is_hardware_xid(79));
    EXPECT_FALSE(is_hardware_xid(31)) << "a program's fault";
    EXPECT_FALSE(is_hardware_xid(12345));
    EXPECT_EQ(xid_text(12345), "Xid 12345");
}

TEST(Fitness, RowsThatWaitForAResetAreNamed) {
    EXPECT_EQ(unfit_reason({.remap_pending = true}, {}, true), "a row remap is pending; reset it");
    EXPECT_EQ(unfit_reason({.remap_pending = true, .remap_failed = true}, {}, false),
              "a defective memory row cannot be replaced; replace the GPU");
}

TEST(Fitness, ProcessesOfOthersAreNamedUnlessARankRunsThere) {
    const GpuState state{
        .processes = {{.pid = 7, .name = "nvtop", .memory = {std::int64_t{1} << 20}},
                      {.pid = 4242, .name = "python", .memory = {std::int64_t{12595} << 20}}}};
    EXPECT_EQ(unfit_reason(state, {}, false), "busy: 12.3 GiB by pid 4242 (python) and 1 other");
    EXPECT_EQ(unfit_reason(state, {}, true), "");
    EXPECT_EQ(unfit_reason({.processes = {{.pid = 9}}}, {}, false), "busy: pid 9");
}

}  // namespace
}  // namespace rm
