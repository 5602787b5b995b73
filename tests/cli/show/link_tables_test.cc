#include "cli/show/link_tables.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/input/links_file.h"

namespace rm {
namespace {

pb::LinksReply two_nodes() {
    pb::LinksReply links;
    for (const char* id : {"a", "b"}) {
        pb::SurveyedNode& node = *links.add_nodes();
        node.set_id(id);
        node.set_hostname(std::string("host-") + id);
        node.set_egress(10);
        node.set_ingress(0.4);
        node.set_devices(2);
        pb::DeviceLink& inside = *node.add_inside();
        inside.set_from(0);
        inside.set_to(1);
        inside.set_bandwidth(80);
    }
    const auto add = [&](const char* from, const char* to, double rate) -> pb::NodeLink& {
        pb::NodeLink& link = *links.add_links();
        link.set_from(from);
        link.set_to(to);
        link.set_bandwidth(rate);
        link.set_flow(rate / 2);
        link.set_latency(1e-4);
        return link;
    };
    add("a", "b", 10);
    pb::NodeLink& slow = add("b", "a", 0.4);
    slow.set_baseline(9);
    *slow.mutable_degraded() = to_proto(WallTime{1'000'000});
    pb::SharedCable& cable = *links.add_cables();
    cable.set_name("a to b");
    cable.add_from("a");
    cable.add_to("b");
    cable.set_bandwidth(0.05);
    return links;
}

std::string printed(void (*print)(const Output&, const pb::LinksReply&)) {
    std::ostringstream text;
    print({text}, two_nodes());
    return text.str();
}

TEST(LinkTables, TheHeatMapShadesRatesAndMarksWhatIsDegraded) {
    EXPECT_EQ(
        printed(print_heat_map),
        "       0  1  receives\n"
        "   0     ██  (rows send)\n"
        "   1  !!   \n"
        "      ██ from 8.5G  ▓▓ from 5.0G  ▒▒ from 2.5G  ░░ from 1.0G  ·· less  !! degraded\n");
}

TEST(LinkTables, TheMatrixHasTheRates) {
    std::ostringstream text;
    rate_matrix(two_nodes()).print({text});
    EXPECT_EQ(text.str(),
              "FROM \\ TO     a    b\n"
              "a             -  10G\n"
              "b          400M    -\n");
}

TEST(LinkTables, CablesAndDegradedLinksAreSentences) {
    EXPECT_EQ(printed(print_cables), "shared  a to b: 50.0 Mbit/s\n");
    std::ostringstream text;
    print_degraded({text}, two_nodes(), WallTime{61'000'000});
    EXPECT_EQ(text.str(), "degraded  b to a: 400.0 Mbit/s instead of 9.0 Gbit/s, seen 1m00s ago\n");
}

TEST(LinkTables, TheSurveyLineSaysWhatHasBeenMeasuredAndWhatRuns) {
    pb::SurveyState survey;
    EXPECT_EQ(survey_line(survey), "nothing has been surveyed yet");
    survey.set_last(2);
    survey.set_nodes(2);
    survey.set_measured_links(2);
    survey.set_seconds(3);
    survey.set_running(3);
    survey.set_steps_known(7);
    survey.set_waits_for_budget(true);
    EXPECT_EQ(survey_line(survey),
              "survey 2 measured 2 links of 2 nodes in 3.0 s\n"
              "survey 3 runs: step 0 of 7, slowly, as jobs run there");
}

TEST(LinkTables, AreTheGraphThatPlacementReads) {
    const LinkGraph graph = graph_of(two_nodes());
    EXPECT_TRUE(validate(graph));
    EXPECT_EQ(graph.num_devices(), 4);
    EXPECT_EQ(graph.between(0, 1), (Link{{10}, {5}, {1e-4}}));
    EXPECT_EQ(graph.interior_of(0).pair(0, 1).bandwidth, GbitPerSec{80});
    ASSERT_EQ(graph.trunks.size(), 1u);
    EXPECT_EQ(graph.trunks[0].to, std::vector<int>{1});
    const auto read = parse_links(links_text(graph));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->network, graph.network);
    EXPECT_EQ(read->trunks, graph.trunks);
}

}  // namespace
}  // namespace rm
