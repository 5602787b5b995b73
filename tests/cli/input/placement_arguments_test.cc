#include "cli/input/placement_arguments.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

std::string mesh_error(std::string_view text) {
    return parse_mesh_argument(text).error().message;
}
std::string bytes_error(std::string_view text) {
    return parse_bytes_argument(text).error().message;
}

TEST(PlacementArguments, AMeshNamesItsAxes) {
    EXPECT_EQ(parse_mesh_argument("data=2,ring=4,tensor=2").value(),
              Mesh::make(2, 4, 1, 2).value());
    EXPECT_EQ(parse_mesh_argument("ring=8,inner=4").value(), Mesh::make(1, 8, 1, 1, 4).value());
    EXPECT_EQ(mesh_error("rings=2"),
              "--mesh: 'rings' is none of data, ring, ulysses, tensor, inner");
    EXPECT_EQ(mesh_error("ring=2,ring=3"), "--mesh: ring is given twice");
    EXPECT_EQ(mesh_error("ring=0"), "--mesh: ring is '0'; it must be 1 to 65536");
    EXPECT_EQ(mesh_error("ring"), "--mesh: 'ring' is not KEY=VALUE");
    EXPECT_EQ(mesh_error(""), "--mesh is missing: data=2,ring=4");
}

TEST(PlacementArguments, BytesHaveUnitsAndMessages) {
    const StepTraffic traffic = parse_bytes_argument("ring=64MiB:12,ulysses=1000").value();
    ASSERT_EQ(traffic.size(), 2U);
    EXPECT_EQ(traffic[0], (CommPhase{Axis::ring, Pattern::ring, {std::int64_t{64} << 20}, 12}));
    EXPECT_EQ(traffic[1], (CommPhase{Axis::ulysses, Pattern::all_to_all, {1000}, 1}));
    EXPECT_EQ(bytes_error("pipeline=1"),
              "--bytes: 'pipeline' is none of data, ring, ulysses, tensor");
    EXPECT_EQ(bytes_error("ring=1KiB:0"), "--bytes: ring: '0' messages; it must be 1 or more");
    EXPECT_NE(bytes_error("ring=much").find("--bytes: ring: "), std::string::npos);
}

TEST(PlacementArguments, TrafficComesFromBytesOrFromAModel) {
    const Mesh mesh = Mesh::make(1, 4, 1, 2).value();
    TrafficOptions options;
    EXPECT_NE(traffic_of(options, mesh).error().message.find("--bytes"), std::string::npos);
    options.bytes = "ring=1MiB";
    EXPECT_EQ(traffic_of(options, mesh)->size(), 1U);
    EXPECT_EQ(
        traffic_of(options, Mesh::make(1, 4, 1, 1, 2).value()).error().message,
        "--bytes describes one ring, but the mesh has 2 inner rings; give --model with --context");
    options.bytes.clear();
    options.model = "llama3-8b";
    EXPECT_EQ(traffic_of(options, mesh).error().message, "--model needs --context");
    options.context = "128K";
    const auto traffic = traffic_of(options, mesh);
    ASSERT_TRUE(traffic) << traffic.error().message;
    EXPECT_EQ(traffic->size(), 4U) << "tensor twice, ring, data";
    EXPECT_FALSE(traffic_of(options, Mesh::make(1, 1, 1, 7).value())) << "7 does not divide heads";
}

TEST(PlacementArguments, DevicesAreNodesOrPartsOfThem) {
    const LinkGraph graph = uniform_graph({{"a"}, {"host:1"}}, 2, {{10}, {}, {}}, {{10}, {}, {}});
    EXPECT_EQ(parse_devices({"a", "host:1:0"}, graph).value(),
              (std::vector<Endpoint>{{0, 0}, {0, 1}, {1, 0}}));
    EXPECT_EQ(parse_devices({"host:1"}, graph)->size(), 2U) << "an id may have a colon";
    EXPECT_EQ(parse_devices({"a:2"}, graph).error().message,
              "'a:2' is neither a node of the link file nor NODE:DEVICE");
    EXPECT_FALSE(parse_devices({"b"}, graph));
}

}  // namespace
}  // namespace rm
