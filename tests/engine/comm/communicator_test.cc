#include <gmock/gmock.h>

#include "engine/comm/staged_communicator.h"
#include "kernels/bf16.h"
#include "tests/engine/comm/communicator_rig.h"

namespace rm {
namespace {

using ::testing::AllOf;
using testing::Communicators;
using ::testing::ElementsAre;
using testing::filled;
using ::testing::HasSubstr;
using testing::mesh_of;
using ::testing::Pair;
using testing::Rank;
using testing::run_all;
using testing::run_all_networks;
using testing::run_ranks;
using testing::StagedCommunicators;

// Bytes that the network's transport has sent; nothing: it has no transport.
std::optional<std::int64_t> messages_sent(const Network& network) {
    const auto* transport = dynamic_cast<const Transport*>(&network);
    return transport == nullptr ? std::nullopt : std::optional(transport->bytes_sent());
}

TEST_P(Communicators, MoveOnTheAxisThatWasAskedFor) {
    const Mesh mesh = mesh_of(2, 3, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const auto me = static_cast<float>(network.rank());
        const Tensor out = filled(*rank.device, 100, me);
        const Tensor around_ring = filled(*rank.device, 100, -1);
        const Tensor around_data = filled(*rank.device, 100, -1);
        const Tensor ring_sum = filled(*rank.device, 10, me);
        const Tensor world_sum = filled(*rank.device, 10, me);
        const Tensor from_root = filled(*rank.device, 10, me);
        rank.communicator.ring_shift(GroupKey::ring, out, around_ring);
        rank.communicator.ring_shift(GroupKey::data, out, around_data);
        rank.communicator.ring_shift(GroupKey::tensor, out, around_data);  // a group of one
        rank.communicator.all_reduce_sum(GroupKey::ring, ring_sum);
        rank.communicator.all_reduce_sum(GroupKey::gradient, world_sum);
        rank.communicator.broadcast(GroupKey::world, from_root, 4);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();

        const int d = mesh.coord(network.rank(), Axis::data);
        const int r = mesh.coord(network.rank(), Axis::ring);
        EXPECT_EQ(around_ring->as<float>()[99], static_cast<float>(d * 3 + (r + 2) % 3));
        EXPECT_EQ(around_data->as<float>()[0], static_cast<float>((1 - d) * 3 + r));
        EXPECT_EQ(ring_sum->as<float>()[9], static_cast<float>(d == 0 ? 3 : 12));
        EXPECT_EQ(world_sum->as<float>()[5], 15);
        EXPECT_EQ(from_root->as<float>()[5], 4);
    });
}

// Small integers, which bf16 holds: any order of summation is exact.
TEST_P(Communicators, SumBf16) {
    const Mesh mesh = mesh_of(1, 3, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const auto terms = [&] {
            Tensor x(*rank.device, MemoryKind::communication, DType::bf16, {300});
            for (int i = 0; i < 300; ++i) {
                const int term = i % 7 * (network.rank() + 1) - 5;
                x->as<Bf16>()[i] = to_bf16(static_cast<float>(term));
            }
            return x;
        };
        const Tensor all = terms(), part = terms();
        rank.communicator.all_reduce_sum(GroupKey::ring, all);
        rank.communicator.reduce_scatter_sum(GroupKey::ring, part);
        rank.stream->synchronize();
        for (int i = 0; i < 300; ++i) {
            const auto sum = static_cast<float>(i % 7 * 6 - 15);
            EXPECT_EQ(from_bf16(all->as<Bf16>()[i]), sum) << i;
            if (i / 100 == network.rank()) {
                EXPECT_EQ(from_bf16(part->as<Bf16>()[i]), sum) << i;
            }
        }
    });
}

TEST(Progress, NamesTheRankThatIsWaitedForAndBeatsWithEveryCollective) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    const auto hub = make_local_hub(2);
    const auto late = make_local_transport(hub, {.rank = 1, .num_ranks = 2, .peers = {0}});
    CommProgress progress;
    std::thread waiting([&] {
        const auto transport = make_local_transport(
            hub, {.rank = 0, .num_ranks = 2, .peers = {1}, .waits_for = &progress.waits_for});
        const auto device = make_host_device();
        const auto stream = device->make_host_stream("communication");
        StagedCommunicator communicator(*transport, *device, *stream, mesh, progress);
        communicator.barrier(GroupKey::world);
        stream->synchronize();
    });
    while (progress.waits_for != 1 + 1)
        std::this_thread::yield();
    EXPECT_EQ(progress.entered, 1);
    EXPECT_EQ(progress.left, 0);
    const std::int64_t entered_at = progress.pulse.beat_mono_nanos;
    EXPECT_GT(entered_at, 0);
    barrier(*late, make_group(mesh, 1, GroupKey::world));
    waiting.join();
    EXPECT_EQ(progress.waits_for, 0);
    EXPECT_EQ(progress.left, 1);
    EXPECT_GT(progress.pulse.beat_mono_nanos, entered_at);
}

TEST_P(Communicators, GatherTheParts) {
    const Mesh mesh = mesh_of(1, 4, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const Tensor whole = filled(*rank.device, 4, static_cast<float>(network.rank()));
        rank.communicator.all_gather(GroupKey::ring, whole);
        rank.stream->synchronize();
        EXPECT_THAT(std::span(whole->as<float>(), 4), ElementsAre(0, 1, 2, 3));
    });
}

TEST_P(Communicators, CountBytesByGroupAndOperation) {
    const Mesh mesh = mesh_of(2, 2, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const Tensor out = filled(*rank.device, 100, 1);
        const Tensor in = filled(*rank.device, 100, 1);
        for (int i = 0; i < 3; ++i)
            rank.communicator.ring_shift(GroupKey::ring, out, in);
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
        EXPECT_EQ(messages_sent(network).value_or(total), total);
    });
}

TEST_P(Communicators, CountEachRingOfADoubleOne) {
    const Mesh mesh = mesh_of(1, 6, 1, 1, 2);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const auto me = static_cast<float>(network.rank());
        const Tensor out = filled(*rank.device, 100, me);
        const Tensor near = filled(*rank.device, 100, -1);
        const Tensor far = filled(*rank.device, 30, -1);
        rank.communicator.ring_shifts({{GroupKey::ring_inner, out, near},
                                       {GroupKey::ring_outer, out->rows(0, 30), far},
                                       {GroupKey::tensor, out, near}});  // a group of one
        rank.communicator.ring_shifts({{GroupKey::tensor, out, near}});
        rank.stream->synchronize();
        EXPECT_THAT(
            rank.communicator.counters().bytes_sent,
            ElementsAre(Pair("ring_inner ring_shift", 400), Pair("ring_outer ring_shift", 120)));
        EXPECT_THAT(rank.communicator.counters().bytes_by_axis, ElementsAre(Pair("ring", 520)));
        EXPECT_EQ(messages_sent(network).value_or(520), 520);
        EXPECT_EQ(rank.noting.bytes_by_name(), rank.communicator.counters().bytes_sent);
        EXPECT_EQ(rank.progress.entered, 1);
        EXPECT_EQ(rank.progress.left, 1);
        EXPECT_EQ(near->as<float>()[99], static_cast<float>(network.rank() ^ 1));
        EXPECT_EQ(far->as<float>()[29], static_cast<float>((network.rank() + 4) % 6));
    });
}

// Rank r sends 10 + r elements: chunks of slots end at documents. Two of them go at once.
TEST_P(Communicators, ShiftWhatDiffersInLength) {
    const Mesh mesh = mesh_of(1, 3, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const int me = network.rank(), previous = (me + 2) % 3;
        const Tensor out = filled(*rank.device, 10 + me, static_cast<float>(me));
        const Tensor in = filled(*rank.device, 10 + previous, -1);
        const Tensor other = filled(*rank.device, 10 + previous, -1);
        rank.communicator.ring_shifts({{GroupKey::ring, out, in}, {GroupKey::ring, out, other}});
        rank.stream->synchronize();
        EXPECT_EQ(in->as<float>()[9 + previous], static_cast<float>(previous));
        EXPECT_EQ(other->as<float>()[9 + previous], static_cast<float>(previous));
    });
}

// Communicates as a ZeRO step: sums gradients on their owners, gathers the new weights.
TEST_P(Communicators, ScatterGatherAndTrade) {
    const Mesh mesh = mesh_of(1, 2, 2, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const int me = network.rank();
        const Tensor grads = filled(*rank.device, 4, static_cast<float>(1 + me));
        const Tensor out = filled(*rank.device, 2, static_cast<float>(me));
        const Tensor in = filled(*rank.device, 2, -1);
        rank.communicator.reduce_scatter_sum(GroupKey::gradient, grads);
        rank.communicator.all_to_all(GroupKey::ulysses, out, in);
        rank.stream->synchronize();
        EXPECT_EQ(grads->as<float>()[me], 10);
        const int peer = me ^ 1;
        EXPECT_EQ(in->as<float>()[peer % 2], static_cast<float>(peer));
        EXPECT_EQ(in->as<float>()[me % 2], -1);
        EXPECT_THAT(
            rank.communicator.counters().bytes_sent,
            ElementsAre(Pair("gradient reduce_scatter_sum", 12), Pair("ulysses all_to_all", 4)));
    });
}

TEST_P(Communicators, ShowTheirProgress) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
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

TEST_P(StagedCommunicators, FailOnTheStreamNamingTheCollective) {
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

TEST_P(StagedCommunicators, CanBeLeftWhileACollectiveHangs) {
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

INSTANTIATE_TEST_SUITE_P(, Communicators, ::testing::ValuesIn(testing::network_kinds()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(, StagedCommunicators, ::testing::ValuesIn(testing::transport_kinds()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rm
