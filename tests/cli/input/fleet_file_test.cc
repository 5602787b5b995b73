#include "cli/input/fleet_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

struct FleetFile : testing::Test {
    TempDir directory;

    Result<PricedFleet> read(const std::string& text) {
        const std::string path = directory.file("fleet.yaml");
        std::ofstream(path) << text;
        return read_fleet_file(path);
    }
    void expect_error(const std::string& text, const std::string& words) {
        const auto fleet = read(text);
        ASSERT_FALSE(fleet.ok()) << text;
        EXPECT_THAT(fleet.error().message, HasSubstr(words));
    }
};

TEST_F(FleetFile, TheExampleIsFortyDevicesWithAPrice) {
    const auto fleet =
        read_fleet_file(std::string(RM_SOURCE_DIR) + "/examples/fleets/four_l40s_nodes.yaml");
    ASSERT_TRUE(fleet.ok()) << fleet.error().message;
    EXPECT_EQ(fleet->fleet.num_devices(), 40);
    EXPECT_EQ(fleet->fleet.device.name, "L40S");
    EXPECT_EQ(fleet->fleet.host_memory().value, fleet->fleet.node_memory.value / 10);
    EXPECT_EQ(fleet->rates.price.per_device_hour, 1.45);
    EXPECT_EQ(fleet->rates.price.date, "2026-11-01");
    EXPECT_EQ(fleet->rates.power.pue, 1.25);
}

TEST_F(FleetFile, NodesMayBeDescribedInPlace) {
    const auto fleet = read(
        "device: A100\nnodes: 2\ndevices_per_node: 4\nnode_memory: 1TiB\ndevice_memory: 70GiB\n"
        "network: {gbit_per_s: 100, flow_gbit_per_s: 20, latency_us: 30}\n"
        "inside: {gbit_per_s: 2400}\n");
    ASSERT_TRUE(fleet.ok()) << fleet.error().message;
    EXPECT_EQ(fleet->fleet.num_devices(), 8);
    EXPECT_EQ(fleet->fleet.device_memory(), Bytes{std::int64_t{70} << 30});
    EXPECT_EQ(fleet->fleet.host_memory(), Bytes{std::int64_t{1} << 38});
    EXPECT_EQ(fleet->fleet.links.between(0, 1).flow.value, 20);
    EXPECT_EQ(fleet->fleet.links.nodes[0].egress.value, 100);
    EXPECT_EQ(fleet->rates.price.per_device_hour, 0);
}

TEST_F(FleetFile, ErrorsNameTheKeyAndTheRemedy) {
    expect_error("nodes: 2\n", "needs one of device");
    expect_error("device: L40S\nprofile: p.json\nnodes: 1\n", "needs one of device");
    expect_error("device: L40S\n", "needs links");
    expect_error("device: L40S\nnodes: 2\n", "needs network: {gbit_per_s: N}");
    expect_error("device: L40S\nnodes: 1\ndevices_per_node: 2\n", "needs inside");
    expect_error("device: B200\nnodes: 1\n", "known: L40S, A100, H100, H200");
    expect_error("device: L40S\nnods: 1\n", "nods: unknown key; did you mean 'nodes'?");
    expect_error("device: L40S\nnodes: 1\nprice: {per_device_hour: -1, currency: USD, date: x}\n",
                 "per_device_hour is -1; it must be above 0");
    expect_error("device: L40S\nnodes: 1\npower: {device_watts: 300, pue: 0.5}\n", "pue: 0.5");
    EXPECT_EQ(read_fleet_file(directory.file("none")).error().code, ErrorCode::not_found);
}

TEST(FleetArgument, IsAKindAndANumber) {
    const auto fleet = parse_fleet_argument("L40S*32");
    ASSERT_TRUE(fleet.ok()) << fleet.error().message;
    EXPECT_EQ(fleet->fleet.num_devices(), 32);
    EXPECT_EQ(fleet->fleet.links.num_nodes(), 4);
    EXPECT_EQ(fleet->fleet.links.num_devices(3), 2);
    for (const char* wrong : {"L40S", "*8", "L40S*", "L40S*8x", "L40S*0", "B200*8"})
        EXPECT_FALSE(parse_fleet_argument(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace rm::test
