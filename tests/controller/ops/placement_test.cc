#include "controller/ops/topology/placement.h"

#include <gmock/gmock.h>

#include "service/convert/convert.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LinkState measured(double rate) {
    return {.flow = {rate}, .bandwidth = {rate}, .latency = {1e-4}, .baseline = {rate}};
}

// Nodes n1 to n4 with a device each; the link from n2 to n3 has a tenth of the others' rate.
struct Cluster : World {
    LinkBook book;

    Cluster() {
        for (const char* id : {"n3", "n1", "n2", "n4"})
            hello(id, 1);
        for (const auto& [from, node] : state.nodes) {
            book.nodes[from] = {.egress = {1}, .ingress = {1}, .num_devices = 1, .inside = {}};
            for (const auto& [to, other] : state.nodes) {
                if (from != to) book.links[{from, to}] = measured(1);
            }
        }
        LinkState& slow = book.links[{{"n2"}, {"n3"}}];
        slow = measured(0.1);
        slow.baseline = {1};
        slow.degraded = WallTime{5'000'000};
    }

    JobId placed(const std::vector<std::string>& nodes) {
        const JobId id = submit(small_spec(ring(static_cast<int>(nodes.size()))));
        plan(id, nodes);
        return id;
    }
    Result<PlacedAttempt> ask(const std::string& job, std::int64_t attempt = 0) const {
        pb::PlacementRequest request;
        request.set_job_id(job);
        request.set_attempt(attempt);
        return placed_attempt(state, request);
    }
    pb::PlacementReply reply(const JobId& id) const {
        return describe_placement(ask(id.value).value(), book);
    }
    PlacementReport report(const JobId& id) const {
        return from_proto(reply(id).placement()).value();
    }
};

std::vector<std::string> nodes_of(const OrderCost& order) {
    std::vector<std::string> nodes;
    for (const DeviceId& device : order.ranks)
        nodes.push_back(device.node.value);
    return nodes;
}

TEST(Placement, ShowsAnAttemptWithWhatItWaitsForBesideBothSimpleOrders) {
    Cluster cluster;
    const JobId id = cluster.placed({"n1", "n2", "n3"});
    const pb::PlacementReply reply = cluster.reply(id);
    EXPECT_EQ(reply.job_id(), id.value);
    EXPECT_EQ(reply.attempt(), cluster.epoch_of(id).value);
    EXPECT_EQ(reply.unsurveyed_size(), 0);
    EXPECT_EQ(reply.num_free(), 1) << "n4";
    EXPECT_EQ(reply.model(), "tiny");
    EXPECT_FALSE(reply.stand_in());
    EXPECT_EQ(reply.context(), 8192);
    const PlacementReport report = cluster.report(id);
    EXPECT_TRUE(report.predicted);
    EXPECT_EQ(report.mesh, ring(3));
    EXPECT_THAT(nodes_of(report.placed), ElementsAre("n1", "n2", "n3"));
    EXPECT_THAT(nodes_of(report.registration), ElementsAre("n3", "n1", "n2"));
    EXPECT_THAT(nodes_of(report.by_node), ElementsAre("n1", "n2", "n3"));
    EXPECT_EQ(report.registration.total, report.placed.total) << "the same ring, begun elsewhere";
    ASSERT_FALSE(report.groups.empty());
    EXPECT_EQ(report.groups[0].resource, "link n2 -> n3");
    ASSERT_EQ(report.traffic.size(), 2U);
    const double bits = 8.0 * static_cast<double>(report.traffic[0].bytes.value);
    EXPECT_NEAR(report.groups[0].time.value, bits / 0.1e9, 1e-9);
    EXPECT_GT(report.placed.phases[0].time, report.groups[0].time) << "with latency";
    ASSERT_EQ(report.hosts.size(), 3U);
    EXPECT_EQ(report.hosts[1].hostname, "host-n2");
}

TEST(Placement, MarksTheDegradedLinksThatItUsesAndNoOthers) {
    Cluster cluster;
    EXPECT_EQ(cluster.report(cluster.placed({"n3", "n2"})).degraded.size(), 1U);
    const PlacementReport away = cluster.report(cluster.placed({"n1", "n4"}));
    EXPECT_TRUE(away.degraded.empty());
    Cluster other;
    const PlacementReport backwards = other.report(other.placed({"n1", "n3", "n2"}));
    EXPECT_TRUE(backwards.degraded.empty()) << "it sends from n3 to n2 only";
    const auto degraded = cluster.report(cluster.state.jobs_by_number.map().begin()->second->id);
    EXPECT_EQ(degraded.degraded[0].from.value, "n2");
    EXPECT_EQ(degraded.degraded[0].baseline.value, 1);
    EXPECT_EQ(degraded.degraded[0].since.micros, 5'000'000);
}

TEST(Placement, CountsOnlyDevicesThatAreFreeToItNow) {
    Cluster cluster;
    const JobId id = cluster.placed({"n2", "n3"});
    EXPECT_EQ(cluster.reply(id).num_free(), 2) << "n1 and n4";
    EXPECT_THAT(nodes_of(cluster.report(id).by_node), ElementsAre("n1", "n2"));
    cluster.apply(DrainNode{{"n1"}, "a new disk"});
    EXPECT_EQ(cluster.reply(id).num_free(), 1);
    EXPECT_THAT(nodes_of(cluster.report(id).registration), ElementsAre("n3", "n2"));
    cluster.placed({"n4"});
    EXPECT_EQ(cluster.reply(id).num_free(), 0);
    EXPECT_THAT(nodes_of(cluster.report(id).by_node), ElementsAre("n2", "n3"));
    Hello other = hello_of("n0", 1);
    other.build = "build-2";
    cluster.apply(NodeHello{other});
    cluster.book.nodes[{"n0"}] = cluster.book.nodes.at({"n1"});
    EXPECT_EQ(cluster.reply(id).num_free(), 0) << "of another build";
}

TEST(Placement, WithoutMeasurementsIsTheOrderAndTheMeshAlone) {
    Cluster cluster;
    cluster.book.nodes.erase({"n3"});
    const JobId id = cluster.placed({"n3", "n2"});
    EXPECT_THAT(cluster.reply(id).unsurveyed(), ElementsAre("n3"));
    const PlacementReport report = cluster.report(id);
    EXPECT_FALSE(report.predicted);
    EXPECT_THAT(nodes_of(report.placed), ElementsAre("n3", "n2"));
    EXPECT_TRUE(report.groups.empty());
}

TEST(Placement, OfOneRankPredictsNothing) {
    Cluster cluster;
    const JobId id = cluster.placed({"n2"});
    EXPECT_FALSE(cluster.report(id).predicted);
    EXPECT_EQ(cluster.reply(id).unsurveyed_size(), 0);
}

TEST(Placement, OfAModelThatIsNoPresetIsInProportion) {
    Cluster cluster;
    JobSpec spec = small_spec(ring(2));
    spec.model = {.preset = "", .from = "/models/mine"};
    const JobId id = cluster.submit(spec);
    cluster.plan(id, {"n1", "n2"});
    EXPECT_TRUE(cluster.reply(id).stand_in());
    EXPECT_EQ(cluster.reply(id).model(), "llama3-8b");
    EXPECT_GT(cluster.report(id).placed.total.value, 0);
}

TEST(Placement, OfWhatIsNotThereSaysWhatIsMissing) {
    Cluster cluster;
    EXPECT_EQ(cluster.ask("zzz").error().code, ErrorCode::not_found);
    const JobId waiting = cluster.submit(small_spec(ring(2)));
    cluster.apply(PlanReady{waiting, cluster.state.planning_version,
                            Reasons{{"needs 2, 1 is free", "add 1"}}});
    const Error early = cluster.ask(waiting.value).error();
    EXPECT_EQ(early.code, ErrorCode::failed_precondition);
    EXPECT_THAT(early.message, HasSubstr("has no attempt yet; needs 2, 1 is free; add 1; more: "
                                         "`ringmaster explain " +
                                         waiting.value + "`"));
    const JobId id = cluster.placed({"n1", "n2"});
    const Error wrong = cluster.ask(id.value, 99).error();
    EXPECT_EQ(wrong.code, ErrorCode::not_found);
    EXPECT_EQ(wrong.message, "job " + id.value + " has no attempt 99");
    const auto named = cluster.ask(id.value.substr(0, 5), cluster.epoch_of(id).value);
    ASSERT_TRUE(named) << named.error().message;
    EXPECT_EQ(named->job, id);
}

}  // namespace
}  // namespace rm::test
