#include "cli/show/placement_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "planner/placement/explain.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr WallTime kSeen{1'000'000};
constexpr WallTime kNow{181'000'000};  // three minutes later

// A ring of three on b, c, a, which registered in order of their names; c to a is slow.
PlacementReport ring_of_three() {
    LinkGraph graph = uniform_graph({{"a"}, {"b"}, {"c"}}, 1, {{8}, {}, {}}, {{80}, {}, {}});
    graph.between(2, 0).bandwidth = {0.8};
    const StepTraffic traffic = {{Axis::ring, Pattern::ring, {100'000'000}, 1}};
    PlacementReport report = report_placement({graph, Mesh::make(1, 3, 1, 1).value(), traffic},
                                              {{1, 0}, {2, 0}, {0, 0}});
    report.hosts = {{{"b"}, "host-b", "10.0.0.2"},
                    {{"c"}, "host-c", "10.0.0.3"},
                    {{"a"}, "host-a", "10.0.0.1"}};
    report.degraded = {{{"c"}, {"a"}, {0.8}, {8}, kSeen}};
    return report;
}

pb::PlacementReply reply_of(const PlacementReport& report) {
    pb::PlacementReply reply;
    reply.set_job_id("abc123");
    reply.set_attempt(7);
    *reply.mutable_placement() = to_proto(report);
    reply.set_num_free(1);
    reply.set_model("llama3-8b");
    reply.set_context(131072);
    reply.set_survey(3);
    return reply;
}

std::string printed(const pb::PlacementReply& reply) {
    std::ostringstream text;
    const Status done = print_attempt_placement({text}, reply, kNow);
    EXPECT_TRUE(done) << done.error().message;
    return text.str();
}

TEST(PlacementText, CutsLongNodeIdsToUniqueBeginnings) {
    PlacementReport report = ring_of_three();
    const std::string ids[] = {"ebf760a4-6b91-4dde", "ebf760a4-6c00-0000", "935367d8-cb66-45b0"};
    for (OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        for (std::size_t rank = 0; rank < order->ranks.size(); ++rank)
            order->ranks[rank].node = {ids[rank]};
    }
    report.groups[0].resource = format("link {} -> {}", ids[1], ids[2]);
    const std::string text = printed(reply_of(report));
    EXPECT_THAT(text, HasSubstr("  ebf760a4-6b:0 > ebf760a4-6c:0 > 935367d8-cb:0\n"));
    EXPECT_THAT(text, HasSubstr("ebf760a4-6c:0 > 935367d8-cb:0  link ebf760a4-6c -> 935367d8-cb"));
    EXPECT_THAT(text, HasSubstr("  ebf760a4-6b91-4dde  "));
}

TEST(PlacementText, ShowsRingsCostsAndWhatIsWaitedFor) {
    EXPECT_EQ(
        printed(reply_of(ring_of_three())),
        "job abc123 attempt 7\n"
        "  communication of a step takes 1.0 s (as of survey 3; bytes of llama3-8b at context "
        "128K)\n"
        "  ORDER                STEP   ring  SLOWER\n"
        "  placed              1.0 s  1.0 s   1.00x\n"
        "  registration order  1.0 s  1.0 s   1.00x\n"
        "  node order          1.0 s  1.0 s   1.00x\n"
        "\n"
        "  ring 3, 3 ranks on 3 nodes\n"
        "  AXIS  SIZE  CUTS                      CROSSES-NODES\n"
        "  ring     3  the tokens of a sequence  yes\n"
        "\n"
        "  NODE  HOST    ADDRESS   DEVICES  RANKS  RING\n"
        "  b     host-b  10.0.0.2  0        0      0\n"
        "  c     host-c  10.0.0.3  0        1      1\n"
        "  a     host-a  10.0.0.1  0        2      2\n"
        "\n"
        "  rings, each rank sending to the next and the last to the first\n"
        "  b:0 > c:0 !!> a:0\n"
        "\n"
        "  what the groups wait for, the slowest first\n"
        "  GROUP  RANKS  SLOWEST    WAITS-FOR     TIME\n"
        "  ring   0-2    c:0 > a:0  link c -> a  1.0 s\n"
        "\n"
        "  !! degraded  c to a: 800.0 Mbit/s instead of 8.0 Gbit/s, seen 3m00s ago\n"
        "\n"
        "  compared on the job's 3 devices plus 1 free one\n");
}

TEST(PlacementText, SaysWhenASimpleOrderWouldBeBetterByNow) {
    PlacementReport report = ring_of_three();
    EXPECT_THAT(printed(reply_of(report)), Not(HasSubstr("would take less")));
    report.by_node.total = {0.5};
    EXPECT_THAT(printed(reply_of(report)),
                HasSubstr("\n  node order would take less: links were measured or devices became "
                          "free since the job was placed\n"));
}

TEST(PlacementText, OfAModelThatIsNoPresetSaysThatOnlyProportionsAreKnown) {
    pb::PlacementReply reply = reply_of(ring_of_three());
    reply.set_stand_in(true);
    EXPECT_THAT(printed(reply),
                HasSubstr("(as of survey 3; in proportion, with the bytes of llama3-8b at "));
}

PlacementReport unpredicted() {
    PlacementReport report = ring_of_three();
    OrderCost placed;
    placed.ranks = report.placed.ranks;
    PlacementReport bare;
    bare.mesh = report.mesh;
    bare.hosts = report.hosts;
    bare.placed = placed;
    return bare;
}

TEST(PlacementText, WithoutLinksShowsTheOrderAndSaysHowToMeasure) {
    pb::PlacementReply reply = reply_of(unpredicted());
    for (const char* node : {"b", "c", "a"})
        reply.add_unsurveyed(node);
    const std::string text = printed(reply);
    EXPECT_THAT(text, HasSubstr("  b     host-b  10.0.0.2  0        0      0\n"));
    EXPECT_THAT(text, HasSubstr("\n  b:0 > c:0 > a:0\n"));
    EXPECT_THAT(text, HasSubstr("\n  no links are measured: `ringmaster survey`\n"));
    EXPECT_THAT(text, Not(HasSubstr("registration")));
    reply.mutable_unsurveyed()->RemoveLast();
    EXPECT_THAT(printed(reply), HasSubstr("\n  no links of b, c are measured: "));
}

TEST(PlacementText, OfOneRankSaysSo) {
    PlacementReport report;
    report.mesh = Mesh::make(1, 1, 1, 1).value();
    report.placed.ranks = {{{"a"}, 3}};
    const std::string text = printed(reply_of(report));
    EXPECT_THAT(text, HasSubstr("\n  a     3        0\n"));
    EXPECT_THAT(text, HasSubstr("\n  one rank: no communication\n"));
}

TEST(PlacementText, RefusesAReplyThatDoesNotFitTogether) {
    pb::PlacementReply reply = reply_of(ring_of_three());
    reply.mutable_placement()->mutable_placed()->clear_ranks();
    std::ostringstream text;
    EXPECT_FALSE(print_attempt_placement({text}, reply, kNow));
}

}  // namespace
}  // namespace rm
