#include "cli/input/links_file.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

// A link file of two nodes with this `network` and `rest`.
std::string file(const std::string& network = R"({"default": {"gbit_per_s": 10}})",
                 const std::string& rest = "") {
    return R"({"format": "ringmaster-links", "version": 1,
               "nodes": [{"id": "a"}, {"id": "b", "egress_gbit_per_s": 7}],
               "network": )" +
           network + rest + "}";
}

std::string error_of(const std::string& text) {
    const auto graph = parse_links(text);
    return graph ? "no error" : graph.error().message;
}

TEST(LinksFile, OfTheExamplesIsRead) {
    const auto graph = read_links(RM_SOURCE_DIR "/examples/links/two_racks.json");
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(graph->num_nodes(), 6);
    EXPECT_EQ(graph->num_devices(), 24);
    EXPECT_EQ(graph->nodes[0].id.value, "b2") << "the order of the file is that of registration";
    EXPECT_EQ(graph->between(1, 4), (Link{{60}, {30}, {45e-6}}));
    EXPECT_EQ(graph->between(4, 1), (Link{{100}, {40}, {30e-6}}));
    EXPECT_EQ(graph->interior_of(0).pair(0, 1).bandwidth.value, 80);
    EXPECT_EQ(graph->trunks[1].from, (std::vector<int>{4, 0, 2}));
}

TEST(LinksFile, IsWrittenAsItIsRead) {
    LinkGraph graph = read_links(RM_SOURCE_DIR "/examples/links/two_racks.json").value();
    const auto again = parse_links(links_text(graph));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(links_text(*again), links_text(graph));
    EXPECT_EQ(again->trunks, graph.trunks);
    EXPECT_EQ(again->nodes, graph.nodes);
    EXPECT_DOUBLE_EQ(again->between(1, 4).latency.value, 45e-6);
    EXPECT_DOUBLE_EQ(again->between(1, 4).flow.value, 30);
}

TEST(LinksFile, WithAMatrixHasRowsOfSenders) {
    const auto graph = parse_links(
        file(R"({"matrix": {"gbit_per_s": [[0, 3], [5, 0]], "latency_us": [[0, 20], [10, 0]]}})"));
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(graph->between(0, 1).bandwidth.value, 3);
    EXPECT_EQ(graph->between(1, 0).bandwidth.value, 5);
    EXPECT_DOUBLE_EQ(graph->between(0, 1).latency.value, 20e-6);
}

TEST(LinksFile, ErrorsNameThePlace) {
    EXPECT_EQ(error_of(file(R"({"defualt": {"gbit_per_s": 10}})")),
              "network.defualt: unknown key; known: default, matrix, links");
    EXPECT_EQ(error_of(file(R"({"default": {"gbit_per_s": "10"}})")),
              "network.default.gbit_per_s: expected a number");
    EXPECT_EQ(error_of(file(R"({"default": {}})")), "network.default.gbit_per_s: it is missing");
    EXPECT_EQ(error_of(file(R"({"links": [{"from": "a", "to": "c", "gbit_per_s": 1}]})")),
              "network.links[0].to: there is no node 'c'");
    EXPECT_EQ(error_of(file(R"({"links": [{"from": "a", "to": "b", "gbit_per_s": 1}]})")),
              "link from node b to a has a bandwidth of 0 Gbit/s; it must be above 0");
    EXPECT_EQ(error_of(file(R"({"matrix": {"gbit_per_s": [[0, 3]]}})")),
              "network.matrix.gbit_per_s: expected 2 rows, one per node");
    EXPECT_EQ(error_of(file(R"({"default": {"gbit_per_s": 1}})", R"(, "trunks": [{"name": "x"}])")),
              "trunks[0].gbit_per_s: it is missing");
    EXPECT_EQ(error_of(R"({"format": "other", "version": 1})"),
              "format 'other' version 1; this program reads ringmaster-links version 1");
    EXPECT_NE(error_of("{\"format\":\n  oops}").find("line 2"), std::string::npos)
        << error_of("{\"format\":\n  oops}");
    EXPECT_NE(error_of(R"({"format": "a", "format": "b"})").find("twice"), std::string::npos);
    EXPECT_EQ(read_links("/nowhere/links.json").error().code, ErrorCode::not_found);
}

TEST(SlurmTopology, HasALeafForNodesThatShareTheirTrunks) {
    const LinkGraph graph = read_links(RM_SOURCE_DIR "/examples/links/two_racks.json").value();
    EXPECT_EQ(slurm_topology(graph),
              "# From measured links; Slurm knows no speeds, only who shares a switch.\n"
              "SwitchName=leaf0 Nodes=b2,b3,b1\n"
              "SwitchName=leaf1 Nodes=a1,a3,a2\n"
              "SwitchName=top Switches=leaf0,leaf1\n");
    EXPECT_EQ(slurm_topology(parse_links(file()).value()),
              "# From measured links; Slurm knows no speeds, only who shares a switch.\n"
              "SwitchName=leaf0 Nodes=a,b\n");
}

}  // namespace
}  // namespace rm
