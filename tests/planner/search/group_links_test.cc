#include "planner/search/group_links.h"

#include <gtest/gtest.h>

#include "engine/comm/communicator.h"
#include "planner/search/fleet.h"
#include "tests/planner/search/planned_jobs.h"

namespace rm::test {
namespace {

constexpr double kGbit = 1e9 / 8;  // bytes a second

// Two nodes of four devices: 80 Gbit/s inside, 40 Gbit/s of each node's network.
LinkGraph two_nodes() {
    const Link network{.bandwidth = {40}, .flow = {}, .latency = Seconds{30e-6}};
    const Link inside{.bandwidth = {80}, .flow = {}, .latency = Seconds{5e-6}};
    LinkGraph links = uniform_graph({{"a"}, {"b"}}, 4, network, inside);
    for (LinkNode& node : links.nodes)
        node.egress = node.ingress = {40};
    return links;
}

LinkSpeeds speeds_on(const LinkGraph& links, const Mesh& mesh) {
    const Routes routes(links);
    return group_links(routes, mesh, first_devices(links, mesh.num_ranks()));
}

void expect_link(const LinkSpeeds& links, GroupKey key, double gbit, double latency) {
    ASSERT_TRUE(links.contains(static_cast<int>(key)));
    const LinkSpeed& speed = links.at(static_cast<int>(key));
    EXPECT_NEAR(speed.bytes_per_sec / kGbit, gbit, 1e-6 * gbit) << to_string(key);
    EXPECT_NEAR(speed.latency.value, latency, 1e-12) << to_string(key);
}

TEST(GroupLinks, OneRingCrossesTheNetworkAlone) {
    const LinkSpeeds links = speeds_on(two_nodes(), mesh_of(1, 8, 1, 1));
    expect_link(links, GroupKey::ring, 40, 30e-6);
    expect_link(links, GroupKey::gradient, 40, 30e-6);
    EXPECT_FALSE(links.contains(static_cast<int>(GroupKey::ulysses)));
    EXPECT_FALSE(links.contains(static_cast<int>(GroupKey::tensor)));
}

TEST(GroupLinks, RingsSideBySideShareTheNetwork) {
    // Slots 0 and 1 of each of the four rings are on different nodes: four flows a direction.
    const LinkSpeeds links = speeds_on(two_nodes(), mesh_of(1, 2, 4, 1));
    expect_link(links, GroupKey::ring, 10, 30e-6);
    // Heads go to three others on as many links of their own: 3 x 80 of them.
    expect_link(links, GroupKey::ulysses, 240, 5e-6);
}

TEST(GroupLinks, ADoubleRingsHopsInsideANodeAreFast) {
    const LinkSpeeds links = speeds_on(two_nodes(), mesh_of(1, 8, 1, 1, 4));
    expect_link(links, GroupKey::ring_inner, 80, 5e-6);
    expect_link(links, GroupKey::ring_outer, 10, 30e-6);
}

TEST(GroupLinks, TensorTakesTheSlowerOfItsPatterns) {
    // All-to-all within a node uses every pair, a ring one pair of each rank.
    expect_link(speeds_on(two_nodes(), mesh_of(1, 2, 1, 4)), GroupKey::tensor, 80, 5e-6);
}

double slowed(const LinkSpeeds& links, GroupKey key, GroupKey by) {
    const auto& slowed_by = links.at(static_cast<int>(key)).slowed_by;
    const auto found = slowed_by.find(static_cast<int>(by));
    return found == slowed_by.end() ? 0 : found->second;
}

TEST(GroupLinks, GroupsThatUseOneLinkSlowEachOther) {
    // The ring and the sums of gradients cross the network with one flow each.
    const LinkSpeeds ring = speeds_on(two_nodes(), mesh_of(1, 8, 1, 1));
    EXPECT_NEAR(slowed(ring, GroupKey::ring, GroupKey::gradient), 1, 1e-9);
    EXPECT_NEAR(slowed(ring, GroupKey::gradient, GroupKey::ring), 1, 1e-9);
    // Four rings' flows beside one of the gradients': it has a fifth, and they four fifths.
    const LinkSpeeds rings = speeds_on(two_nodes(), mesh_of(1, 2, 4, 1));
    EXPECT_NEAR(slowed(rings, GroupKey::ring, GroupKey::gradient), 0.25, 1e-9);
    EXPECT_NEAR(slowed(rings, GroupKey::gradient, GroupKey::ring), 4, 1e-9);
    // Heads stay inside the nodes, beside the ring between them.
    EXPECT_EQ(slowed(rings, GroupKey::ring, GroupKey::ulysses), 0);
}

TEST(GroupLinks, OneFlowMayBeSlowerThanTheLink) {
    LinkGraph links = two_nodes();
    for (Link& link : links.network)
        link.flow = {8};
    expect_link(speeds_on(links, mesh_of(1, 8, 1, 1)), GroupKey::ring, 8, 30e-6);
}

}  // namespace
}  // namespace rm::test
