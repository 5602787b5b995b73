#include <gmock/gmock.h>

#include <set>

#include "engine/comm/communicator.h"
#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using ::testing::ElementsAre;
using testing::mesh_of;

TEST(PeersOf, AreTheNeighboursOnEveryRing) {
    EXPECT_THAT(peers_of(mesh_of(1, 1, 1, 1)), ElementsAre(ElementsAre()));
    EXPECT_THAT(peers_of(mesh_of(1, 2, 1, 1)), ElementsAre(ElementsAre(1), ElementsAre(0)));
    const PeerTable ring = peers_of(mesh_of(1, 5, 1, 1));
    EXPECT_THAT(ring[0], ElementsAre(1, 4));
    EXPECT_THAT(ring[3], ElementsAre(2, 4));
    // data 2 x ring 4: the ring of rank 0 is 0..3, its data group {0, 4}, the world ring ends at 7.
    const PeerTable grid = peers_of(mesh_of(2, 4, 1, 1));
    EXPECT_THAT(grid[0], ElementsAre(1, 3, 4, 7));
    EXPECT_THAT(grid[5], ElementsAre(1, 4, 6));
}

TEST(PeersOf, AreAllOfAnUlyssesAndATensorGroup) {
    EXPECT_THAT(peers_of(mesh_of(1, 1, 5, 1))[1], ElementsAre(0, 2, 3, 4));
    // ulysses 4 x tensor 2 beside data 2: rank 0 trades with 1, 2, 4, 6; 8 and 15 are neighbours.
    EXPECT_THAT(peers_of(mesh_of(2, 1, 4, 2))[0], ElementsAre(1, 2, 4, 6, 8, 14, 15));
}

TEST(PeersOf, AreTheNeighboursOnBothRingsOfADoubleOne) {
    // Inner rings 0 1 2, 3 4 5, 6 7 8, 9 10 11; the ring over all ranks closes as well.
    EXPECT_THAT(peers_of(mesh_of(1, 12, 1, 1, 3))[0], ElementsAre(1, 2, 3, 9, 11));
    EXPECT_THAT(peers_of(mesh_of(1, 12, 1, 1, 3))[4], ElementsAre(1, 3, 5, 7));
}

TEST(PeersOf, AreMutual) {
    const PeerTable table = peers_of(mesh_of(3, 2, 2, 2));
    for (std::size_t rank = 0; rank < table.size(); ++rank) {
        for (const int peer : table[rank]) {
            EXPECT_THAT(table[static_cast<std::size_t>(peer)],
                        ::testing::Contains(static_cast<int>(rank)));
        }
    }
}

TEST(GroupKey, OfTheGradientHoldsEqualParameters) {
    const Mesh mesh = mesh_of(2, 2, 1, 2);
    EXPECT_THAT(make_group(mesh, 3, GroupKey::gradient).ranks, ElementsAre(1, 3, 5, 7));
    EXPECT_THAT(make_group(mesh, 3, GroupKey::tensor).ranks, ElementsAre(2, 3));
    EXPECT_EQ(make_group(mesh, 3, GroupKey::world).size(), 8);
}

TEST(GroupKey, OfADoubleRingAreSlotsInARowAndSlotsOfOnePlace) {
    const Mesh mesh = mesh_of(2, 6, 1, 2, 3);
    // Rank 12 + 2 * 4 + 1: ring slot 4, place 1 of the second inner ring.
    EXPECT_THAT(make_group(mesh, 21, GroupKey::ring_inner).ranks, ElementsAre(19, 21, 23));
    EXPECT_EQ(make_group(mesh, 21, GroupKey::ring_inner).index, 1);
    EXPECT_THAT(make_group(mesh, 21, GroupKey::ring_outer).ranks, ElementsAre(15, 21));
    EXPECT_EQ(make_group(mesh, 21, GroupKey::ring_outer).index, 1);
    const Mesh plain = mesh_of(1, 4, 1, 1);
    EXPECT_THAT(make_group(plain, 2, GroupKey::ring_inner).ranks, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(make_group(plain, 2, GroupKey::ring_outer).ranks, ElementsAre(2));
}

TEST(CommName, NamesEveryIdOnce) {
    EXPECT_EQ(comm_name(0), "none");
    EXPECT_EQ(comm_name(1), "data ring_shift");
    EXPECT_EQ(comm_name(42), "world all_to_all");
    EXPECT_EQ(comm_name(55), "ring_outer reduce_scatter_sum");
    EXPECT_EQ(comm_name(57), "unknown collective 57");
    std::set<std::string> names;
    for (int id = 0; id < 57; ++id)
        names.insert(comm_name(id));
    EXPECT_EQ(names.size(), 57U);
}

}  // namespace
}  // namespace rm
