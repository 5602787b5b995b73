#include "engine/comm/communicator.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using ::testing::AllOf;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mesh_of;
using ::testing::Pair;
using testing::run_all;
using testing::run_ranks;

// One rank's end of the queued form, as the engine wires it.
struct Rank {
    Rank(Transport& transport, const Mesh& mesh)
        : communicator(transport, *device, *stream, mesh, progress) {}

    std::unique_ptr<Device> device = make_host_device();
    std::unique_ptr<Stream> stream = device->make_host_stream("communication");
    CommProgress progress;
    Communicator communicator;
};

Tensor filled(Device& device, std::int64_t count, float value) {
    Tensor tensor(device, MemoryKind::communication, DType::f32, {count});
    std::fill_n(tensor->as<float>(), count, value);
    return tensor;
}

class Communicators : public ::testing::TestWithParam<std::string> {
protected:
    Cluster cluster(const Mesh& mesh) const {
        return {.kind = GetParam(), .num_ranks = mesh.num_ranks(), .peers = peers_of(mesh)};
    }
};

TEST_P(Communicators, MoveOnTheAxisThatWasAskedFor) {
    const Mesh mesh = mesh_of(2, 3, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const auto me = static_cast<float>(transport.rank());
        const Tensor out = filled(*rank.device, 100, me);
        const Tensor around_ring = filled(*rank.device, 100, -1);
        const Tensor around_data = filled(*rank.device, 100, -1);
        const Tensor ring_sum = filled(*rank.device, 10, me);
        const Tensor world_sum = filled(*rank.device, 10, me);
        const Tensor from_root = filled(*rank.device, 10, me);
        rank.communicator.ring_shift(Axis::ring, out, around_ring);
        rank.communicator.ring_shift(Axis::data, out, around_data);
        rank.communicator.ring_shift(Axis::tensor, out, around_data);  // a group of one
        rank.communicator.all_reduce_sum(GroupKey::ring, ring_sum);
        rank.communicator.all_reduce_sum(GroupKey::gradient, world_sum);
        rank.communicator.broadcast(GroupKey::world, from_root, 4);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();

        const int d = mesh.coord(transport.rank(), Axis::data);
        const int r = mesh.coord(transport.rank(), Axis::ring);
        EXPECT_EQ(around_ring->as<float>()[99], static_cast<float>(d * 3 + (r + 2) % 3));
        EXPECT_EQ(around_data->as<float>()[0], static_cast<float>((1 - d) * 3 + r));
        EXPECT_EQ(ring_sum->as<float>()[9], static_cast<float>(d == 0 ? 3 : 12));
        EXPECT_EQ(world_sum->as<float>()[5], 15);
        EXPECT_EQ(from_root->as<float>()[5], 4);
    });
}

TEST_P(Communicators, GatherTheParts) {
    const Mesh mesh = mesh_of(1, 4, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const Tensor whole = filled(*rank.device, 4, static_cast<float>(transport.rank()));
        rank.communicator.all_gather(GroupKey::ring, whole);
        rank.stream->synchronize();
        EXPECT_THAT(std::span(whole->as<float>(), 4), ElementsAre(0, 1, 2, 3));
    });
}

TEST_P(Communicators, CountBytesByGroupAndOperation) {
    const Mesh mesh = mesh_of(2, 2, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const Tensor out = filled(*rank.device, 100, 1);
        const Tensor in = filled(*rank.device, 100, 1);
        for (int i = 0; i < 3; ++i)
            rank.communicator.ring_shift(Axis::ring, out, in);
        rank.communicator.all_reduce_sum(GroupKey::gradient, out);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();
        const CommCounters counters = rank.communicator.counters();
        EXPECT_THAT(counters.bytes_sent,
                    ElementsAre(Pair("gradient all_reduce_sum", 2 * 3 * 100),
                                Pair("ring ring_shift", 3 * 400), Pair("world barrier", 3)));
        EXPECT_GT(counters.waited.value, 0);
        std::int64_t total = 0;
        for (const auto& [name, bytes] : counters.bytes_sent)
            total += bytes;
        EXPECT_EQ(total, transport.bytes_sent());
    });
}

TEST_P(Communicators, ShowTheirProgress) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        EXPECT_EQ(comm_name(rank.progress.last), "none");
        rank.communicator.barrier(GroupKey::data);  // a group of one is no collective
        rank.communicator.barrier(GroupKey::world);
        rank.communicator.barrier(GroupKey::ring);
        rank.stream->synchronize();
        EXPECT_EQ(rank.progress.entered, 2);
        EXPECT_EQ(rank.progress.left, 2);
        EXPECT_EQ(comm_name(rank.progress.last), "ring barrier");
    });
}

TEST_P(Communicators, FailOnTheStreamNamingTheCollective) {
    const Mesh mesh = mesh_of(1, 3, 1, 1);
    const auto errors = run_ranks(cluster(mesh), [&](Transport& transport) {
        if (transport.rank() == 2) return;
        Rank rank(transport, mesh);
        const Tensor x = filled(*rank.device, 100, 1);
        rank.communicator.all_reduce_sum(GroupKey::gradient, x);
        try {
            rank.stream->synchronize();
        } catch (const StreamError&) {
            EXPECT_EQ(rank.progress.entered, 1);
            EXPECT_EQ(rank.progress.left, 0);
            throw;
        }
    });
    EXPECT_THAT(errors[0], AllOf(HasSubstr("gradient all_reduce_sum"), HasSubstr("is gone")));
    EXPECT_THAT(errors[1], AllOf(HasSubstr("gradient all_reduce_sum"), HasSubstr("is gone")));
}

TEST_P(Communicators, CanBeLeftWhileACollectiveHangs) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    const testing::Stopwatch watch;
    (void)run_ranks(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();
        if (transport.rank() == 0) {
            rank.communicator.barrier(GroupKey::world);
            transport.abort("the compute stream failed");
        }
    });
    EXPECT_LT(watch.seconds(), 10);
}

INSTANTIATE_TEST_SUITE_P(, Communicators, ::testing::ValuesIn(testing::transport_kinds()),
                         [](const auto& info) { return info.param; });

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

TEST(CommName, NamesEveryIdOnce) {
    EXPECT_EQ(comm_name(0), "none");
    EXPECT_EQ(comm_name(1), "data ring_shift");
    EXPECT_EQ(comm_name(30), "world barrier");
    EXPECT_EQ(comm_name(31), "unknown collective 31");
}

}  // namespace
}  // namespace rm
